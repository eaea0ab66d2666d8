// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProxy

/// What is wrong with a URL of Redis; the URL itself is not shown, since it may have a password.
package struct RedisURLViolation: Error {
    /// The rest of a sentence that begins with the URL.
    package let reason: String

    fileprivate init(_ reason: String) {
        self.reason = reason
    }
}

extension RedisSettings {
    /// The maximum number of servers in a URL.
    private static let maxServers = 32

    /// The schemes of the URLs of Redis.
    package static let schemes = ["", "+sentinel", "+cluster"].flatMap { ["redis\($0)", "rediss\($0)"] }

    /// The settings of a URL.
    ///
    /// `//user:password@host:port/database`, in which user, password, port and database may be missing; with Sentinel
    /// `//user:password@host:port,host:port/master/database`, as a cluster `//user:password@host:port,host:port`.
    ///
    /// - Parameters:
    ///   - scheme: One of ``schemes``.
    ///   - text: The rest of the URL, after the colon.
    /// - Throws: What is wrong with the URL, which is not shown: it may have a password.
    package init(scheme: Substring, _ text: Substring) throws(RedisURLViolation) {
        let kind = scheme.drop { $0 != "+" }
        let form = "write such as '\(RedisSettings.example(scheme))'"
        guard text.hasPrefix("//") else { throw RedisURLViolation("is not a URL of Redis; \(form)") }
        let sides = text.dropFirst(2).split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        let place = sides[0].split(separator: "@", omittingEmptySubsequences: false)
        guard place.count <= 2 else { throw RedisURLViolation("has more than one '@'; write it as %40 in a password") }
        let isSecure = scheme.hasPrefix("rediss")
        let port = kind == "+sentinel" ? 26_379 : 6379
        let targets = try RedisSettings.targets(place[place.count - 1], isSecure: isSecure, port: port, form)
        let path = sides.count == 2 ? sides[1].split(separator: "/", omittingEmptySubsequences: false) : []
        switch kind {
        case "+sentinel":
            guard let master = path.first, (1...128).contains(master.utf8.count),
                master.utf8.allSatisfy(RedisSettings.isName)
            else { throw RedisURLViolation("has no name of a master after the sentinels; \(form)") }
            self.init(.sentinels(targets, master: String(master)))
            self.database = try RedisSettings.database(path.dropFirst(), form)
        case "+cluster":
            guard path.allSatisfy({ $0.isEmpty || $0 == "0" }), path.count <= 1 else {
                throw RedisURLViolation("has a database, but a cluster has only the database 0; \(form)")
            }
            self.init(.cluster(targets))
        default:
            guard targets.count == 1 else { throw RedisURLViolation("has more than one server; \(form)") }
            self.init(.one(targets[0]))
            self.database = try RedisSettings.database(path[...], form)
        }
        if place.count == 2 { self.credentials = try RedisSettings.credentials(place[0], form) }
    }

    private static func example(_ scheme: Substring) -> String {
        switch scheme.drop(while: { $0 != "+" }) {
        case "+sentinel": "\(scheme)://user:password@s1.example.com,s2.example.com,s3.example.com/mymaster/0"
        case "+cluster": "\(scheme)://user:password@r1.example.com,r2.example.com"
        default: "\(scheme)://user:password@redis.example.com:6379/0"
        }
    }

    private static func targets(
        _ text: Substring,
        isSecure: Bool,
        port: Int,
        _ form: String
    ) throws(RedisURLViolation) -> [UpstreamTarget] {
        var targets: [UpstreamTarget] = []
        for authority in text.split(separator: ",", omittingEmptySubsequences: false) {
            let hasPort = authority.last?.isNumber == true && authority.contains(":") && !authority.hasSuffix("]")
            guard !authority.contains(where: { "?#".contains($0) }),
                let origin = WebURL("http://\(authority)\(hasPort ? "" : ":\(port)")")?.origin
            else { throw RedisURLViolation("has no valid host and port; \(form)") }
            let target = UpstreamTarget(.tcp(host: origin.host, port: origin.port), isSecure: isSecure)
            guard !targets.contains(target) else { throw RedisURLViolation("has the same server twice; \(form)") }
            targets.append(target)
        }
        guard targets.count <= self.maxServers else {
            throw RedisURLViolation("has more than \(self.maxServers) servers; some of them are enough")
        }
        return targets
    }

    private static func database(_ path: ArraySlice<Substring>, _ form: String) throws(RedisURLViolation) -> Int {
        guard let text = path.first, !text.isEmpty || path.count > 1 else { return 0 }
        guard path.count == 1, let number = Int(text), (0...65_535).contains(number) else {
            throw RedisURLViolation("has a database that is not a number from 0 to 65535; \(form)")
        }
        return number
    }

    private static func credentials(_ text: Substring, _ form: String) throws(RedisURLViolation) -> Credentials {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            .map { PercentEncoding.decode($0.utf8) }
        guard parts.count == 2, let user = parts[0], let password = parts[1], !password.isEmpty else {
            throw RedisURLViolation("has no password before the '@'; \(form)")
        }
        return Credentials(user: user.isEmpty ? nil : String(decoding: user, as: UTF8.self), password: Secret(password))
    }

    /// The characters that Sentinel allows in the name of a master.
    private static func isName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: ".-_".utf8.contains(byte)
        }
    }
}
