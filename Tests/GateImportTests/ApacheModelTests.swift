// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GateImport

/// A small model of httpd 2.4: sections, their merging, `Require`, and directives that narrow access beside it.
///
/// https://httpd.apache.org/docs/2.4/sections.html, https://httpd.apache.org/docs/2.4/mod/mod_authz_core.html
@Suite struct ApacheModelTests {
    private indirect enum Rule: Sendable {
        case one(String, @Sendable (ModelRequest) -> Bool)
        case not(String, @Sendable (ModelRequest) -> Bool)
        case container(String, [Rule])

        var lines: [String] {
            switch self {
            case .one(let text, _): ["Require \(text)"]
            case .not(let text, _): ["Require not \(text)"]
            case .container(let name, let rules): ["<\(name)>"] + rules.flatMap(\.lines) + ["</\(name)>"]
            }
        }

        /// Whether access is granted; nil for neither.
        func grants(_ request: ModelRequest) -> Bool? {
            switch self {
            case .one(_, let holds): return holds(request)
            case .not(_, let holds): return holds(request) ? false : nil
            case .container(let name, let rules):
                let results = rules.map { $0.grants(request) }
                return switch name {
                case "RequireAll": results.contains(false) ? false : results.contains(true) ? true : nil
                case "RequireNone": results.contains(true) ? false : nil
                default: results.contains(true) ? true : results.contains(false) ? false : nil
                }
            }
        }
    }

    private struct Section: Sendable {
        let path: String
        let signsIn: Bool
        let rules: [Rule]
        /// A directive beside the rules, and whether it denies a request.
        let more: (text: String, denies: @Sendable (ModelRequest) -> Bool)?
        let condition: (opening: String, holds: Bool)?

        func contains(_ request: ModelRequest) -> Bool {
            guard self.condition?.holds ?? true else { return false }
            let isFolder = self.path.hasSuffix("/") && self.path != "/"
            return isFolder ? request.path.hasPrefix(self.path) : request.isBelow(self.path)
        }

        var lines: [String] {
            var lines = ["<Location \(self.path)>"]
            if self.signsIn { lines.append("AuthType openid-connect") }
            lines += self.rules.flatMap(\.lines) + (self.more.map { [$0.text] } ?? []) + ["</Location>"]
            guard let condition else { return lines }
            let name = condition.opening.prefix { $0 != " " }
            return ["<\(condition.opening)>"] + lines + ["</\(name)>"]
        }
    }

    private static let atoms: [Rule] =
        [
            .one("valid-user") { $0.user != nil }, .one("all granted") { _ in true }, .one("all denied") { _ in false },
            .one("ip 10.0.0.0/8", \.isInOffice), .one("method GET POST") { ["GET", "POST"].contains($0.method) },
            .one("claim email~^.*@example\\.com$") { $0.user?.email?.hasSuffix("@example.com") == true },
            .one("expr true") { _ in false }, .one("host example.org") { _ in false },
            .one("claim department:eng") { $0.has("department", .text("eng")) },
            .one("claim level:7") { $0.has("level", .text("7")) || $0.has("level", .number("7")) },
            .one("claim level:true") { $0.has("level", .text("true")) || $0.has("level", .flag(true)) },
            .one("claim org.unit:x department:ops") {
                $0.has("org_unit", .text("x")) || $0.has("department", .text("ops"))
            },
            .one("claim department~.") { $0.user?.claims["department"] != nil },
        ]
        + ImportedAccess.groups.map { group in .one("claim groups:\(group)") { $0.user?.groups.contains(group) == true }
        }

    private static let directives: [(text: String, denies: @Sendable (ModelRequest) -> Bool)] = [
        ("AllowMethods GET", { $0.method != "GET" }), ("Order allow,deny\nDeny from all", { _ in true }),
        ("Order allow,deny\nAllow from all", { _ in false }), ("SSLVerifyClient require", { _ in true }),
        ("<Limit POST>\nRequire all denied\n</Limit>", { $0.method == "POST" }), ("SetEnv A b", { _ in false }),
        ("RewriteRule . - [F]", { _ in true }), ("Header set A b", { _ in false }), ("NewDirective on", { _ in true }),
    ]
    private static let ofHost: [(text: String, denies: @Sendable (ModelRequest) -> Bool)] = [
        ("RedirectMatch 403 ^/a", { $0.path.hasPrefix("/a") }), ("Redirect gone /c", { $0.isBelow("/c") }),
        ("SSLEngine on", { _ in false }), ("ErrorDocument 403 /no", { _ in false }),
        ("SSLVerifyClient require", { _ in true }),
        ("RewriteRule ^/c - [R=403,L]", { $0.path.hasPrefix("/c") }),
        ("<If \"true\">\nRequire all denied\n</If>", { _ in true }),
    ]
    private static let conditions: [(opening: String, holds: Bool)] = [
        ("IfModule mod_authz_core.c", true), ("IfModule !mod_authz_core.c", false), ("IfModule mod_x.c", true),
        ("IfModule mod_x.c", false), ("IfDefine OPEN", true), ("IfDefine OPEN", false), ("IfVersion >= 2.4", true),
        ("IfFile \"/etc/x\"", false), ("IfModule !mod_x.c", true),
    ]

    private func rule(_ random: inout ImportedAccess, depth: Int, in container: String) -> Rule {
        if depth < 3, random.chance(0.3) {
            let name = random.pick(["RequireAll", "RequireAny", "RequireAll", "RequireNone"])
            return .container(
                name,
                (0..<random.pick([1, 2, 3])).map { _ in self.rule(&random, depth: depth + 1, in: name) }
            )
        }
        let atom = random.pick(Self.atoms)
        guard container == "RequireAll", random.chance(0.3), case .one(let text, let holds) = atom else { return atom }
        return .not(text, holds)
    }

    // I-01, Q-01
    @Test func `an imported file never admits what httpd denies`() throws {
        var random = ImportedAccess(seed: 71)
        var counts = (users: 0, open: 0)
        for _ in 0..<60 {
            let sections = (0..<random.pick([1, 2, 3, 4])).map { index in
                Section(
                    path: index == 0 ? "/" : random.pick(["/", "/a", "/a/", "/a/b", "/c", "/c/"]),
                    signsIn: index == 0 || random.chance(0.3),
                    rules: (0..<random.pick([0, 1, 1, 2])).map { _ in self.rule(&random, depth: 0, in: "RequireAny") },
                    more: random.chance(0.12) ? random.pick(Self.directives) : nil,
                    condition: random.chance(0.12) ? random.pick(Self.conditions) : nil
                )
            }
            let more = random.chance(0.2) ? [random.pick(Self.ofHost)] : []
            let text =
                (["OIDCProviderMetadataURL https://id.example.com/.well-known/openid-configuration", "OIDCClientID g"]
                + ["<VirtualHost *:443>", "ServerName gate.example.com", "ProxyPass / http://127.0.0.1:8080/"]
                + more.map(\.text) + sections.flatMap(\.lines) + ["</VirtualHost>"]).joined(separator: "\n")
            guard let imported = try? Imported(text, format: .modAuthOpenIDC) else { continue }
            let found = ImportedAccess.compare(imported, users: ImportedAccess.users(of: ["staff"]), source: text) {
                request in
                let around = sections.filter { $0.contains(request) }
                guard !more.contains(where: { $0.denies(request) }),
                    !around.contains(where: { $0.more?.denies(request) == true })
                else { return false }
                guard let ruling = around.last(where: { !$0.rules.isEmpty }) else { return true }
                // Without AuthType there is no user.
                let isAuthenticated = around.contains(where: \.signsIn)
                let seen = ModelRequest(
                    host: request.host,
                    path: request.path,
                    method: request.method,
                    client: request.client,
                    user: isAuthenticated ? request.user : nil
                )
                return Rule.container("RequireAny", ruling.rules).grants(seen) == true
            }
            counts = (counts.users + found.users, counts.open + found.open)
        }
        #expect(counts.users > 100 && counts.open > 50, "the files are not all denied")
    }
}
