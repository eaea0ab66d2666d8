// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GateImport

/// A small model of oauth2-proxy 7: email addresses and groups, and the paths that need no sign-in.
///
/// https://oauth2-proxy.github.io/oauth2-proxy/configuration/overview
@Suite struct OAuth2ProxyModelTests {
    private struct Path: Sendable {
        let text: String
        let matches: @Sendable (ModelRequest) -> Bool
    }

    private static let routes = [
        Path(text: "skip_auth_routes = ['^/c']") { $0.path.hasPrefix("/c") },
        Path(text: "skip_auth_routes = ['GET=^/a/']") { $0.method == "GET" && $0.path.hasPrefix("/a/") },
        Path(text: "skip_auth_routes = ['POST!=^/a']") { $0.method == "POST" && !$0.path.hasPrefix("/a") },
        Path(text: "skip_auth_routes = ['^/a=b']") { _ in false },
        Path(text: "skip_auth_regex = ['GET=^/a/']") { _ in false },
        Path(text: "skip_auth_regex = ['^/a$']") { $0.path == "/a" },
        Path(text: "skip_auth_regex = '/a/'") { $0.path.contains("/a/") },
        Path(text: "skip_auth_preflight = true") { $0.method == "OPTIONS" },
    ]
    private static let emails: [(text: String, admits: @Sendable (Profile) -> Bool)] = [
        ("email_domains = ['*']", { $0.email != nil }),
        ("email_domains = 'example.com'", { $0.email == "ann@example.com" }),
        ("email_domains = ['example.net', 'EXAMPLE.com']", { $0.email != nil }), ("email_domains = []", { _ in false }),
        ("email_domains = ['.example.com']", { _ in false }),
    ]
    private static let groups: [(text: String, admits: @Sendable (Profile) -> Bool)] = [
        ("", { _ in true }), ("allowed_groups = ['a']", { $0.groups.contains("a") }),
        ("allowed_groups = ['b', 'guests']", { !Set($0.groups).isDisjoint(with: ["b", "guests"]) }),
        // Our users have groups of these names, and no roles.
        ("allowed_roles = ['a']", { _ in false }),
        ("allowed_roles = ['a']\noidc_groups_claim = 'teams'", { _ in false }),
        ("allowed_roles = ['b']\nallowed_groups = ['a']", { $0.groups.contains("a") }),
    ]
    private static let upstreams: [Path] = [
        Path(text: "'http://127.0.0.1:1/'") { _ in true },
        Path(text: "'http://127.0.0.1:2/a/'") { $0.isBelow("/a") },
        Path(text: "'http://127.0.0.1:3/c'") { $0.path == "/c" },
    ]
    private static let others: [(text: String, denies: Bool)] = [
        ("", false), ("", false), ("banner = 'x'", false), ("brand_new = 'x'", true), ("bitbucket_team = 'x'", true),
    ]

    // I-02
    @Test func `an imported file never admits what oauth2-proxy denies`() throws {
        var random = ImportedAccess(seed: 74)
        var counts = (users: 0, open: 0)
        for _ in 0..<60 {
            let (email, group, other) = (random.pick(Self.emails), random.pick(Self.groups), random.pick(Self.others))
            let open = random.chance(0.6) ? [random.pick(Self.routes)] : []
            let upstreams = Self.upstreams.filter { _ in random.chance(0.7) }
            let lines =
                [
                    "provider = 'keycloak-oidc'", "client_id = 'g'",
                    "oidc_issuer_url = 'https://id.example.com/realms/x'",
                    "upstreams = [\(upstreams.map(\.text).joined(separator: ", "))]", email.text, group.text,
                    other.text,
                ] + open.map(\.text)
            let text = lines.joined(separator: "\n")
            guard let imported = try? Imported(text) else { continue }
            let users = ImportedAccess.users(of: ["keycloak"])
            let found = ImportedAccess.compare(imported, users: users, source: text) { request in
                guard upstreams.contains(where: { $0.matches(request) }) else { return false }
                if open.contains(where: { $0.matches(request) }) { return true }
                return !other.denies && request.user.map { email.admits($0) && group.admits($0) } ?? false
            }
            counts = (counts.users + found.users, counts.open + found.open)
        }
        #expect(counts.users > 100 && counts.open > 20, "the files are not all denied")
    }
}
