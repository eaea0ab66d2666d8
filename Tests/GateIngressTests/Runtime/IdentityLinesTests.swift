// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GateFixtures
import GateHeaders
import GatePolicy
import GateSessions
import GateTestSupport
import NIOCore
import Testing

@testable import GateIngress
@testable import GateRuntime

@Suite struct IdentityLinesTests {
    /// What an app gets for a new session of a user, and the id of that.
    private func text(
        about profile: Profile,
        on app: String = "wiki",
        _ gateway: GatewayFixture
    ) async throws -> (lines: String, session: String) {
        let issued = try await gateway.session(of: profile)
        let route = try gateway.route(app)
        let buffer = try gateway.runtime.identity.lines(
            for: issued.session,
            on: route.route,
            as: route.identity,
            now: gateway.clock.now
        )
        return (String(buffer: buffer), issued.session.id)
    }

    /// The claims of the assertion in lines, of which it is the last.
    private func claims(in lines: String) throws -> JSON {
        let token = try #require(lines.split(separator: "Assertion: ").last)
        return try JSON(parsing: try #require(Base64URL.decode(token.split(separator: ".")[1].utf8)))
    }

    private func lines(_ profile: Profile, on app: String = "wiki") async throws -> [String] {
        let text = try await self.text(about: profile, on: app, try GatewayFixture()).lines
        #expect(text.hasSuffix("\r\n") && !text.contains("\r\n\r\n"))
        return text.split(separator: "\r\n").map(String.init)
    }

    @Test func `an app gets the identity of the user`() async throws {
        let lines = try await self.lines(.staff())
        #expect(
            lines.dropLast() == [
                "X-Forwarded-User: staff:ada", "X-Forwarded-Email: ada@example.org", "X-Forwarded-Name: Ada Lovelace",
                "X-Forwarded-Preferred-Username: ada", "X-Forwarded-Groups: ops,wiki", "X-Forwarded-Provider: staff",
            ]
        )
        #expect(lines.last?.hasPrefix("X-Gatehouse-Assertion: ey") == true)
    }

    @Test func `an email address that is not verified is not sent`() async throws {
        var profile = Profile.staff()
        profile.emailVerified = false
        let lines = try await self.lines(profile, on: "shop")
        #expect(!lines.contains { $0.contains("example.org") && !$0.contains("Assertion") })
        #expect(!lines.contains { $0.hasPrefix("X-WEBAUTH-USER") })
    }

    @Test func `what is not known has no line`() async throws {
        let lines = try await self.lines(.guest, on: "shop")
        #expect(
            lines.dropLast() == ["X-Forwarded-User: guests:g1", "X-Forwarded-Provider: guests", "Who: guests:g1"]
        )
    }

    @Test func `an app's own names carry the same fields`() async throws {
        let lines = try await self.lines(.staff(), on: "shop")
        #expect(lines.contains("X-WEBAUTH-USER: ada@example.org") && lines.contains("Who: staff:ada"))
    }

    @Test func `a group's name cannot become two groups, nor a name a line`() async throws {
        var profile = Profile.staff()
        profile.groups = ["a,admin", "b%2C", "c\r\nX-Forwarded-User: root"]
        profile.name = "Eve\r\nX-Forwarded-User: root"
        let lines = try await self.lines(profile)
        #expect(lines.contains("X-Forwarded-Groups: a%2Cadmin,b%252C,c%0D%0AX-Forwarded-User: root"))
        #expect(lines.count { $0.hasPrefix("X-Forwarded-User:") } == 1)
    }

    @Test func `the assertion is for this app and is cached for half its lifetime`() async throws {
        let gateway = try GatewayFixture()
        let (text, session) = try await self.text(about: .staff(), gateway)
        let claims = try self.claims(in: text)
        #expect(claims["aud"]?.string == "https://gate.example.com/wiki" && claims["sub"]?.string == "staff:ada")
        #expect(claims["iss"]?.string == "https://gate.example.com" && claims["sid"]?.string == session)
        #expect(gateway.runtime.identity.halfLife == .seconds(60))
    }

    @Test func `an app that asks for named groups gets no other, in no line`() async throws {
        let gateway = try GatewayFixture(app: { app in
            guard app.route.app == "wiki" else { return }
            var entry = AccessEntry(at: RulePlace(line: 1))
            entry.group = "ops"
            app.route.access = .entries([entry])
            app.route.groups = .named
        })
        let text = try await self.text(about: .staff(), gateway).lines
        #expect(text.contains("X-Forwarded-Groups: ops\r\n"))
        #expect(try self.claims(in: text)["groups"] == ["ops"])
    }

    /// A user of whom every field is known.
    private static var whole: Profile {
        var profile = Profile.staff()
        (profile.tenant, profile.givenName, profile.familyName) = ("acme", "Ada", "Lovelace")
        (profile.picture, profile.locale) = ("https://id.example.com/ada.png", "en-GB")
        (profile.roles, profile.emailAuthoritative) = (["admin", "editor"], true)
        (profile.authTime, profile.acr, profile.amr) = (Instant(seconds: 1_790_000_000), "2", ["pwd", "otp"])
        profile.claims = [
            "department": .text("Forschung & Entwicklung"), "level": .number("7"), "contractor": .flag(false),
            "projects": .list(["x,y", "z"]),
        ]
        return profile
    }

    /// The lines by name and the claims of the assertion of an app that is changed.
    private func received(
        _ profile: Profile,
        _ change: @escaping @Sendable (inout AppSettings) -> Void
    ) async throws -> (lines: [String: String], claims: JSON) {
        let gateway = try GatewayFixture(app: { app in
            if app.route.app == "wiki" { change(&app) }
        })
        let text = try await self.text(about: profile, gateway).lines
        var lines: [String: String] = [:]
        for line in text.split(separator: "\r\n") {
            let sides = line.split(separator: ": ", maxSplits: 1).map(String.init)
            #expect(lines.updateValue(sides[1], forKey: sides[0]) == nil, "\(sides[0]) is there twice")
        }
        return (lines, try self.claims(in: text))
    }

    /// The value of each field as a line and in the assertion, as docs/headers.md has them.
    private static let table: [(IdentityField, line: String, claim: String, json: JSON)] = [
        (.user, "staff:ada", "sub", "staff:ada"), (.email, "ada@example.org", "email", "ada@example.org"),
        (.name, "Ada Lovelace", "name", "Ada Lovelace"), (.preferredUsername, "ada", "preferred_username", "ada"),
        (.groups, "ops,wiki", "groups", ["ops", "wiki"]), (.provider, "staff", "provider", "staff"),
        (.roles, "admin,editor", "roles", ["admin", "editor"]), (.givenName, "Ada", "given_name", "Ada"),
        (.familyName, "Lovelace", "family_name", "Lovelace"),
        (.picture, "https://id.example.com/ada.png", "picture", "https://id.example.com/ada.png"),
        (.locale, "en-GB", "locale", "en-GB"), (.tenant, "acme", "tenant", "acme"),
        (.emailVerified, "true", "email_verified", true), (.emailAuthoritative, "true", "email_authoritative", true),
        (.groupsComplete, "true", "groups_complete", true),
        (.issuer, "https://id.staff.example", "issuer", "https://id.staff.example"),
        (.subject, "ada", "subject", "ada"),
        (.authTime, "1790000000", "auth_time", 1_790_000_000), (.acr, "2", "acr", "2"),
        (.amr, "pwd,otp", "amr", ["pwd", "otp"]),
    ]

    @Test func `M-01: every field reaches an app, as a header of its choice and in the assertion`() async throws {
        #expect(Self.table.map(\.0) == IdentityField.facts)
        let found = try await self.received(Self.whole) { app in
            app.headers = Self.table.map {
                HeaderSetting(name: "App-\($0.0.rawValue.replacing("_", with: "-"))", field: $0.0)
            }
        }
        for (field, line, claim, json) in Self.table {
            #expect(found.lines["App-\(field.rawValue.replacing("_", with: "-"))"] == line)
            #expect(found.claims[claim] == json)
        }
    }

    @Test func `M-01: the assertion has roles, class, methods and time of the authentication without being asked`()
        async throws
    {
        let found = try await self.received(Self.whole) { _ in }
        #expect(found.claims["roles"] == ["admin", "editor"] && found.claims["auth_time"] == 1_790_000_000)
        #expect(found.claims["acr"] == "2" && found.claims["amr"] == ["pwd", "otp"])
        let others = ["given_name", "family_name", "picture", "locale", "tenant", "issuer", "subject", "claims"]
        for name in others { #expect(found.claims[name] == nil, "\(name) was not asked for") }
        #expect(found.lines.count == 7)
        let bare = try await self.received(.guest) { _ in }
        #expect(bare.claims["roles"] == [] && bare.claims["amr"] == nil && bare.claims["acr"] == nil)
    }

    @Test func `M-02: claims reach an app as headers and, with their types, in the assertion`() async throws {
        let found = try await self.received(Self.whole) { app in
            app.headers = [
                HeaderSetting(name: "X-Department", fact: .claim("department")),
                HeaderSetting(name: "X-Projects", fact: .claim("projects")),
                HeaderSetting(name: "X-Contractor", fact: .claim("contractor")),
                HeaderSetting(name: "X-Missing", fact: .claim("missing")),
            ]
            app.identity.claims = ["level"]
        }
        #expect(found.lines["X-Department"] == "Forschung & Entwicklung" && found.lines["X-Contractor"] == "false")
        #expect(found.lines["X-Projects"] == "x%2Cy,z" && found.lines["X-Missing"] == nil)
        let expected: JSON = [
            "department": "Forschung & Entwicklung", "projects": ["x,y", "z"], "contractor": false, "level": 7,
        ]
        #expect(found.claims["claims"] == expected)
    }

    @Test func `M-02: a claim that an app did not ask for is in none of its lines`() async throws {
        let found = try await self.received(Self.whole) { app in app.identity.claims = ["level"] }
        #expect(found.claims["claims"] == ["level": 7])
        #expect(found.lines.count == 7)
        #expect(try await self.received(Self.whole) { _ in }.claims["claims"] == nil)
    }
}
