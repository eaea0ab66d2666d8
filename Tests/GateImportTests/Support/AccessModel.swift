// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateTestSupport
import Testing

@testable import GateImport

/// A request, and the user of its session, as the model of a product judges it.
struct ModelRequest: CustomStringConvertible {
    var host = "gate.example.com"
    let path: String
    let method: String
    let client: String
    let user: Profile?

    var description: String {
        "\(self.method) \(self.host)\(self.path) from \(self.client) as \(self.user?.provider ?? "no user") "
            + "\(self.user?.email ?? "-") \(self.user?.groups ?? []) \(self.user?.claims ?? [:])"
    }

    /// Whether a claim of the user is a value, or a list with it.
    func has(_ claim: String, _ value: ClaimValue) -> Bool {
        guard let found = self.user?.claims[claim] else { return false }
        if case .list(let texts) = found, case .text(let text) = value { return texts.contains(text) }
        return found == value
    }

    var isInOffice: Bool { self.client.hasPrefix("10.") }

    /// Whether the path is another one or below it, segment by segment.
    func isBelow(_ path: String) -> Bool { PathPattern.contains(path, self.path) }
}

/// Random files of a product: its model may deny what the imported file denies, and must never deny what that admits.
struct ImportedAccess {
    var generator: SeededNumbers

    init(seed: UInt64) {
        self.generator = SeededNumbers(state: seed)
    }

    mutating func chance(_ share: Double) -> Bool { Double.random(in: 0..<1, using: &self.generator) < share }

    mutating func pick<Value>(_ values: [Value]) -> Value {
        values[Int.random(in: 0..<values.count, using: &self.generator)]
    }

    mutating func some<Value>(_ values: [Value], _ count: ClosedRange<Int>) -> [Value] {
        (0..<Int.random(in: count, using: &self.generator)).map { _ in self.pick(values) }
    }

    static let groups = ["a", "b", "guests"]

    /// Claims of users, of each type; of one more user all are unknown.
    private static let claims: [[String: ClaimValue]] = [
        ["department": .text("eng"), "level": .number("7"), "org_unit": .text("x")],
        ["department": .list(["ops", "eng"]), "level": .text("7")],
        ["department": .text("7"), "level": .flag(true), "org_unit": .list([])],
    ]

    /// Users of some providers: of two domains, with a verified email address and without, in several groups.
    static func users(of providers: [String]) -> [Profile?] {
        var users: [Profile?] = [nil]
        for provider in providers {
            users += [[], ["b", "a"], ["a", "guests"]].map { .user(provider, groups: $0) }
            users += [
                .user(provider, email: "eve@example.net", groups: ["a"]), .user(provider, email: nil, groups: ["b"]),
            ]
            users += Self.claims.map { claims in
                var user = Profile.user(provider, groups: ["a"])
                user.claims = claims
                return user
            }
        }
        return users
    }

    /// Compares all decisions of an imported file with those of the model.
    ///
    /// - Returns: How many requests with a session were admitted, and how many without.
    static func compare(
        _ imported: Imported,
        hosts: [String] = ["gate.example.com"],
        users: [Profile?],
        source: String,
        with admits: (ModelRequest) -> Bool
    ) -> (users: Int, open: Int) {
        var counts = (users: 0, open: 0)
        // A file without an app admits no request.
        guard imported.configuration != nil else {
            #expect(imported.errors.allSatisfy { $0.contains("the file needs 'apps'") }, "\(source)")
            return counts
        }
        for host in hosts {
            for path in ["/", "/a", "/a/x", "/a/b/c", "/ab", "/a-b/c", "/c", "/c/d"] {
                for method in ["GET", "POST", "OPTIONS"] {
                    for client in ["10.0.0.1", "192.0.2.1"] {
                        for user in users {
                            let request = ModelRequest(
                                host: host,
                                path: path,
                                method: method,
                                client: client,
                                user: user
                            )
                            let isOpen = imported.isPublic(path, host: host, method: method, from: client)
                            let isAdmitted =
                                user.map { imported.admits($0, path, host: host, method: method, from: client) }
                                ?? false
                            guard isOpen || isAdmitted else { continue }
                            if isOpen { counts.open += 1 } else { counts.users += 1 }
                            guard !admits(request) else { continue }
                            Issue.record(
                                "\(request) is admitted by the import of\n\(source)\nas\n\(imported.result.yaml)"
                            )
                            return counts
                        }
                    }
                }
            }
        }
        return counts
    }
}
