// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GateImport

/// A small model of Authelia's `access_control`: the first rule that matches decides.
///
/// https://www.authelia.com/configuration/security/access-control/
@Suite struct AutheliaModelTests {
    private struct Part: Sendable {
        let text: String
        let matches: @Sendable (ModelRequest) -> Bool
    }

    private struct Rule: Sendable {
        let policy: String
        let parts: [Part]

        var text: String { "    - { policy: \(self.policy), \(self.parts.map(\.text).joined(separator: ", ")) }" }
    }

    private static let domains = [
        Part(text: "domain: app.example.com") { $0.host == "app.example.com" },
        Part(text: "domain: [App.example.com, x.example.com]") { _ in true },
        Part(text: "domain: '*.example.com'") { $0.host.hasSuffix(".example.com") },
        Part(text: "domain_regex: '^app\\..*$'") { $0.host.hasPrefix("app.") },
    ]
    private static let resources = [
        Part(text: "resources: '^/a([/?].*)?$'") { $0.isBelow("/a") },
        Part(text: "resources: ['^/c']") { $0.path.hasPrefix("/c") }, Part(text: "resources: []") { _ in true },
        Part(text: "resources: ['^/[ab]/']") { $0.path.hasPrefix("/a/") },
        Part(text: "resources: ['^/c$', '^/a/']") { $0.path == "/c" || $0.path.hasPrefix("/a/") },
        Part(text: "resources: '^/a/b([/?].*)?$'") { $0.isBelow("/a/b") },
    ]
    private static let others = [
        Part(text: "methods: [GET]") { $0.method == "GET" },
        Part(text: "methods: [post, OPTIONS]") { $0.method != "GET" },
        Part(text: "networks: [10.0.0.0/8]", matches: \.isInOffice), Part(text: "networks: []") { _ in true },
        Part(text: "networks: unknown_name") { _ in false }, Part(text: "query: []") { _ in true },
    ]

    private static func subject(_ text: String, _ matches: @escaping @Sendable (Profile) -> Bool) -> Part {
        Part(text: "subject: \(text)") { $0.user.map(matches) ?? true }
    }

    private static let subjects = [
        subject("'group:a'") { $0.groups.contains("a") },
        subject("[['group:a', 'group:guests'], 'group:b']") {
            $0.groups == ["a", "guests"] || $0.groups.contains("b")
        },
        Part(text: "subject: []") { _ in true }, subject("[[]]") { _ in true },
    ]

    // I-04, Q-02
    @Test func `an imported file never admits what Authelia denies`() throws {
        var random = ImportedAccess(seed: 73)
        var counts = (users: 0, open: 0)
        for _ in 0..<60 {
            // What a rule cannot express about our users holds for all of them, or for none.
            let known = random.chance(0.5)
            let subjects = Self.subjects + [Self.subject("'user:john'") { _ in known }]
            let others = Self.others + [Part(text: "query: [{ key: x }]") { _ in known }]
            let rules = (0..<random.pick([1, 2, 3, 4, 5])).map { _ in
                var parts = [random.pick(Self.domains)]
                if random.chance(0.4) { parts.append(random.pick(Self.resources)) }
                if random.chance(0.3) { parts.append(random.pick(subjects)) }
                if random.chance(0.3) { parts.append(random.pick(others)) }
                let policies = ["bypass", "one_factor", "one_factor", "two_factor", "deny", "Bypass"]
                return Rule(policy: random.pick(policies), parts: parts)
            }
            let standard = random.pick(["deny", "deny", "one_factor", "two_factor"])
            let text =
                "session: { cookies: [{ domain: example.com, authelia_url: 'https://auth.example.com' }] }\naccess_control:\n"
                + "  default_policy: \(standard)\n  rules:\n" + rules.map(\.text).joined(separator: "\n") + "\n"
            guard let imported = try? Imported(text, format: .authelia, publicURL: "https://gate.example.org") else {
                continue
            }
            let users = ImportedAccess.users(of: ["authelia", "authelia-two-factor"])
            let hosts = ["app.example.com", "x.example.com"]
            let found = ImportedAccess.compare(imported, hosts: hosts, users: users, source: text) { request in
                let rule = rules.first { rule in rule.parts.allSatisfy { $0.matches(request) } }
                return switch rule?.policy ?? standard {
                case "bypass": true
                case "one_factor": request.user != nil
                case "two_factor": request.user?.provider == "authelia-two-factor"
                default: false
                }
            }
            counts = (counts.users + found.users, counts.open + found.open)
        }
        #expect(counts.users > 100 && counts.open > 50, "the files are not all denied")
    }
}
