// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GateImport

/// A small model of Pomerium: the first route that matches, and its policy.
///
/// https://www.pomerium.com/docs/reference/routes, https://www.pomerium.com/docs/internals/ppl
@Suite struct PomeriumModelTests {
    private struct Criterion: Sendable {
        let text: String
        let holds: @Sendable (ModelRequest) -> Bool
    }

    private struct Clause: Sendable {
        let action: String
        let name: String
        let criteria: [Criterion]

        var text: String {
            "{ \(self.action): { \(self.name): [\(self.criteria.map(\.text).joined(separator: ", "))] } }"
        }

        /// Of the readings that several negated criteria could have, the one that admits fewer users.
        func matches(_ request: ModelRequest) -> Bool {
            let results = self.criteria.map { $0.holds(request) }
            return switch self.name {
            case "and": !results.contains(false)
            case "or": results.contains(true)
            default: self.action == "allow" ? !results.contains(true) : results.contains(false)
            }
        }
    }

    private struct Route: Sendable {
        let host: String
        let path: (text: String, matches: @Sendable (ModelRequest) -> Bool)
        let flags: [String]
        let policy: [Clause]
        let more: (text: String, denies: Bool)?

        var text: String {
            let lines =
                ["from: https://\(self.host)", "to: http://127.0.0.1:8080"]
                + ([self.path.text] + self.flags.map { "\($0): true" } + (self.more.map { [$0.text] } ?? []))
                .filter { !$0.isEmpty }
                + (self.policy.isEmpty ? [] : ["policy: [\(self.policy.map(\.text).joined(separator: ", "))]"])
            return "  - " + lines.joined(separator: "\n    ")
        }

        func contains(_ request: ModelRequest) -> Bool {
            let isHost =
                self.host.hasPrefix("*.") ? request.host.hasSuffix(self.host.dropFirst()) : self.host == request.host
            return isHost && self.path.matches(request)
        }

        func admits(_ request: ModelRequest) -> Bool {
            guard self.more?.denies != true else { return false }
            guard !self.policy.contains(where: { $0.action == "deny" && $0.matches(request) }) else { return false }
            if self.flags.contains("allow_public_unauthenticated_access") { return true }
            if self.flags.contains("cors_allow_preflight"), request.method == "OPTIONS" { return true }
            guard request.user != nil else { return false }
            if self.flags.contains("allow_any_authenticated_user") { return true }
            return self.policy.contains { $0.action == "allow" && $0.matches(request) }
        }
    }

    private static let criteria: [Criterion] =
        [
            Criterion(text: "{ domain: { is: example.com } }") { $0.user?.email?.hasSuffix("@example.com") == true },
            Criterion(text: "{ email: { is: eve@example.net } }") { $0.user?.email == "eve@example.net" },
            Criterion(text: "{ authenticated_user: true }") { $0.user != nil },
            Criterion(text: "{ source_ip: 10.0.0.0/8 }", holds: \.isInOffice),
            Criterion(text: "{ http_method: { is: GET } }") { $0.method == "GET" },
            Criterion(text: "{ claim/department: eng }") { $0.has("department", .text("eng")) },
            Criterion(text: "{ claim/level: 7 }") { $0.has("level", .number("7")) },
            Criterion(text: "{ claim/level: '7' }") { $0.has("level", .text("7")) },
            Criterion(text: "{ claim/level: true }") { $0.has("level", .flag(true)) },
            Criterion(text: "{ claim/org.unit: x }") { $0.has("org_unit", .text("x")) },
        ]
        + ImportedAccess.groups.map { group in
            Criterion(text: "{ groups: { has: \(group) } }") { $0.user?.groups.contains(group) == true }
        }

    private static let paths: [(text: String, matches: @Sendable (ModelRequest) -> Bool)] = [
        ("", { _ in true }), ("prefix: /", { _ in true }), ("prefix: /a", { $0.path.hasPrefix("/a") }),
        ("prefix: /a/", { $0.path.hasPrefix("/a/") }), ("prefix: /a-b", { $0.path.hasPrefix("/a-b") }),
        ("prefix: /a/b", { $0.path.hasPrefix("/a/b") }), ("path: /c", { $0.path == "/c" }),
        ("path: /", { $0.path == "/" }),
        ("regex: '^/a(/.*)?$'", { $0.isBelow("/a") }), ("regex: '/'", { $0.path == "/" }),
        ("regex: '^/a'", { $0.path == "/a" }),
        ("regex: '/.*'", { _ in true }), ("regex: '^/'", { $0.path == "/" }),
    ]

    /// A criterion that is not known: as the strictest reading has it, it admits no user and denies all.
    private func criterion(_ action: String, _ name: String, _ random: inout ImportedAccess) -> Criterion {
        guard random.chance(0.1) else { return random.pick(Self.criteria) }
        let isNegated = name == "not" || name == "nor"
        let strict = (action == "deny") != isNegated
        return Criterion(text: "{ device: { is: x } }") { _ in strict }
    }

    // I-03
    @Test func `an imported file never admits what Pomerium denies`() throws {
        var random = ImportedAccess(seed: 72)
        var counts = (users: 0, open: 0)
        for _ in 0..<60 {
            let routes = (0..<random.pick([1, 2, 3, 4])).map { _ in
                let clauses = (0..<random.pick([0, 1, 1, 2])).map { _ -> Clause in
                    let action = random.pick(["allow", "allow", "deny"])
                    let name = random.pick(["and", "or", "or", "not", "nor"])
                    let criteria = (0..<random.pick([1, 2])).map { _ in self.criterion(action, name, &random) }
                    return Clause(action: action, name: name, criteria: criteria)
                }
                let flags = [
                    ("allow_public_unauthenticated_access", 0.15), ("cors_allow_preflight", 0.15),
                    ("allow_any_authenticated_user", 0.4),
                ]
                return Route(
                    host: random.pick(["app.example.com", "app.example.com", "*.example.com"]),
                    path: random.pick(Self.paths),
                    flags: flags.filter { random.chance($0.1) }.map(\.0),
                    policy: clauses,
                    more: random.chance(0.05)
                        ? random.pick([
                            ("tls_downstream_client_ca: eA==", true), ("logo_url: https://x.example/y", false),
                        ]) : nil
                )
            }
            let global = random.chance(0.05) ? "downstream_mtls: { enforcement: reject_connection }\n" : ""
            let text =
                "idp_provider: oidc\nidp_provider_url: https://id.example.com\nidp_client_id: g\n\(global)routes:\n"
                + routes.map(\.text).joined(separator: "\n") + "\n"
            guard let imported = try? Imported(text, format: .pomerium, publicURL: "https://gate.example.org") else {
                continue
            }
            let users = ImportedAccess.users(of: ["oidc"])
            let hosts = ["app.example.com", "x.example.com"]
            let found = ImportedAccess.compare(imported, hosts: hosts, users: users, source: text) { request in
                global.isEmpty && routes.first { $0.contains(request) }?.admits(request) == true
            }
            counts = (counts.users + found.users, counts.open + found.open)
        }
        #expect(counts.users > 100 && counts.open > 50, "the files are not all denied")
    }
}
