// SPDX-License-Identifier: Apache-2.0

import GateFixtures
import GateWire
import NIOCore

@testable import GateRuntime

/// A request of a client that writes names of identity headers in all spellings.
struct HostileRequest {
    /// A field as bytes, which may be no field at all.
    struct Field {
        var name: [UInt8]
        var value: [UInt8]
    }

    var target: String
    /// A POST has a body.
    var method = "GET"
    var fields: [Field]
    /// The session cookie; nil for a stranger.
    var cookie: String?
    /// The value of `Authorization`.
    var authorization: String?

    /// What a body holds; it must not be read as a field of the request.
    private static let body = "X-Forwarded-User: evil\r\n\r\n"

    /// The request as bytes of HTTP/1.1.
    var bytes: [UInt8] {
        let start = "\(self.method) \(self.target) HTTP/1.1\r\nHost: \(GatewayFixture.gate)\r\nX-Keep: kept\r\n"
        var bytes = Array(start.utf8)
        if let cookie { bytes += "Cookie: \(cookie)\r\n".utf8 }
        if let authorization { bytes += "Authorization: \(authorization)\r\n".utf8 }
        if self.hasBody { bytes += "Content-Length: \(Self.body.utf8.count)\r\n".utf8 }
        for field in self.fields { bytes += field.name + Array(": ".utf8) + field.value + [0x0D, 0x0A] }
        return bytes + [0x0D, 0x0A] + (self.hasBody ? Array(Self.body.utf8) : [])
    }

    private var hasBody: Bool { self.method == "POST" }

    /// The head that the parser of HTTP/1.1 makes of it; nil if it rejects the request.
    func parsed(_ names: FieldNames) -> RequestHead? {
        var parser = RequestParser(names: names, isSecure: true)
        var buffer = ByteBuffer(bytes: self.bytes)
        return try? parser.head(from: &buffer)
    }

    /// The same for HTTP/2, without a parser's help against lines in values.
    func parsedFromHTTP2(_ names: FieldNames) -> RequestHead? {
        let builder = HTTP2RequestHeadBuilder(isSecure: true)
        builder.begin(names: names, into: ByteBuffer())
        func append(_ name: String, _ value: String) {
            builder.append(name: Array(name.utf8).span, value: Array(value.utf8).span)
        }
        append(":method", self.method)
        append(":scheme", "https")
        append(":authority", GatewayFixture.gate)
        append(":path", self.target)
        append("x-keep", "kept")
        if let cookie { append("cookie", cookie) }
        if let authorization { append("authorization", authorization) }
        if self.hasBody { append("content-length", "\(Self.body.utf8.count)") }
        for field in self.fields { builder.append(name: field.name.span, value: field.value.span) }
        return try? builder.finish(endsStream: !self.hasBody)
    }

    /// The same request without one field.
    func without(_ index: Int) -> HostileRequest {
        var smaller = self
        smaller.fields.remove(at: index)
        return smaller
    }

    /// The bytes with escapes, for the report of a failure.
    var shown: String {
        self.bytes.map { (0x20...0x7E).contains($0) ? AppServer.text([$0]) : "\\x\(String($0, radix: 16))" }.joined()
    }
}

/// Makes hostile requests from a seed.
struct HostileRequests: RandomNumberGenerator {
    private var state: UInt64
    let names: [String]
    let loose: [String]
    let cookies: [String?]
    let authorizations: [String?]

    /// - Parameters:
    ///   - seed: What makes the requests the same in every run.
    ///   - names: The names that only the gateway may set.
    ///   - loose: Names that it sets for some apps only, so that irregular spellings of them are not rejected.
    ///   - cookies: The cookies that a client may have.
    ///   - authorizations: The values of `Authorization` that a client may send.
    init(seed: UInt64, names: [String], loose: [String], cookies: [String?], authorizations: [String?]) {
        self.state = seed
        self.names = names
        self.loose = loose
        self.cookies = cookies
        self.authorizations = authorizations
    }

    /// SplitMix64.
    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var word = (self.state ^ (self.state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }

    private mutating func one<Value>(_ values: [Value]) -> Value {
        values[Int.random(in: values.indices, using: &self)]
    }

    private mutating func happens(oneIn count: Int) -> Bool { Int.random(in: 0..<count, using: &self) == 0 }

    private static let targets = [
        "/wiki", "/wiki/a?b=c", "/wiki/deep/page", "/wiki/assets/a.css", "/wiki/assets/", "/wiki/healthz",
        "/wiki/net/", "/wiki/net/a?b=c",
    ]

    /// The next request, of which most are accepted: many spellings are rejected with the whole request.
    mutating func request(lowerCase: Bool) -> HostileRequest {
        let isStrange = self.happens(oneIn: 4)
        let fields = (0..<Int.random(in: 1...8, using: &self)).map { _ in
            self.field(isStrange: isStrange, lowerCase: lowerCase)
        }
        return HostileRequest(
            target: self.one(Self.targets),
            method: self.one(["GET", "GET", "POST"]),
            fields: fields,
            cookie: self.one(self.cookies),
            authorization: self.one(self.authorizations)
        )
    }

    private mutating func field(isStrange: Bool, lowerCase: Bool) -> HostileRequest.Field {
        var name = Array((self.happens(oneIn: 8) ? self.one(Self.others) : self.one(self.names)).utf8)
        // HTTP/2 has no `Connection`.
        if !lowerCase, self.happens(oneIn: 10) {
            let named = (0...2).map { _ in self.one(self.names + Self.others) }
            return HostileRequest.Field(
                name: self.cased(Array("Connection".utf8)),
                value: Array(named.joined(separator: ", ").utf8)
            )
        }
        if self.happens(oneIn: 6) {
            // These are not rejected, but dropped, or forwarded to apps that want them.
            let dash = self.one(Array("__.~".utf8))
            name = self.one(self.loose + Self.others).utf8.map { $0 == UInt8(ascii: "-") ? dash : $0 }
        } else if isStrange, self.happens(oneIn: 2) {
            name = self.strange(name)
        }
        name = lowerCase && !self.happens(oneIn: 50) ? Array(AppServer.text(name).lowercased().utf8) : self.cased(name)
        return HostileRequest.Field(name: name, value: self.value(isStrange: isStrange && self.happens(oneIn: 8)))
    }

    /// Names that concern no identity, some with a prefix or an end of one.
    private static let others = [
        "X-Mine", "Accept", "User-Agent", "X-Auth-Token", "X_Mine", "X.Mine", "My-User", "Content-Type", "Cookie",
        "Referer", "HTTP-X-Forwarded-User", "HTTP_X_FORWARDED_USER", "Content_Type", "Expect", "TE", "Sec-User",
    ]

    /// Each letter in either case, or all in one.
    private mutating func cased(_ name: [UInt8]) -> [UInt8] {
        let style = Int.random(in: 0..<4, using: &self)
        return name.map { byte in
            guard (0x41...0x5A).contains(byte & 0xDF) else { return byte }
            return switch style {
            case 0: byte
            case 1: byte | 0x20
            case 2: byte & 0xDF
            default: Bool.random(using: &self) ? byte ^ 0x20 : byte
            }
        }
    }

    /// A name in which something is another byte than it should be, or one more.
    private mutating func strange(_ name: [UInt8]) -> [UInt8] {
        var name = name
        let bytes: [[UInt8]] = [
            [0x5F], [0x2E], [0x20], [0x7E], [0x21], [0x09], [0], [0x7F], [0xC5, 0xBF], [0xE2, 0x84, 0xAA],
            [0xE2, 0x80, 0x90],
            [0x3A], [0x25, 0x32, 0x64], [0x0D], [0x0A], [0x0D, 0x0A], [0x0D, 0x0A, 0x20], [0xFF], [0xAD], [],
        ]
        let dashes = name.indices.filter { name[$0] == UInt8(ascii: "-") }
        let replacement = self.one(bytes)
        switch Int.random(in: 0..<4, using: &self) {
        case 0:
            for index in dashes.reversed() { name.replaceSubrange(index...index, with: replacement) }
        case 1:
            guard let index = dashes.randomElement(using: &self) else { break }
            name.replaceSubrange(index...index, with: replacement)
        case 2:
            name.insert(contentsOf: replacement, at: Int.random(in: 0...name.count, using: &self))
        default:
            name = Bool.random(using: &self) ? name + replacement : replacement + name
        }
        return name
    }

    private mutating func value(isStrange: Bool) -> [UInt8] {
        let values = [
            "evil", "", "staff:root", "admins", "a,b", "evil, evil", "\"evil\"", "127.0.0.1", "https",
            "=?utf-8?b?ZQ==?=",
            "Bearer evil", "gatehouse=:ZXZpbA==:",
        ]
        let value = Array(self.one(values).utf8)
        guard isStrange else { return value }
        let line = Array("\(self.one(self.names)): evil".utf8)
        let breaks: [[UInt8]] = [
            [0x0D, 0x0A], [0x0A], [0x0D], [0x0D, 0x0A, 0x20], [0x0D, 0x0A, 0x09], [0], [0x0B], [0x85],
        ]
        return value + self.one(breaks) + line
    }
}
