// SPDX-License-Identifier: Apache-2.0

import GateAppConfiguration
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
    private func lines(_ profile: Profile, on app: String = "wiki") async throws -> [String] {
        let gateway = try GatewayFixture()
        let issued = try await gateway.session(of: profile)
        let route = try gateway.route(app)
        let buffer = try gateway.runtime.identity.lines(
            for: issued.session,
            on: route.route,
            as: route.identity,
            now: gateway.clock.now
        )
        let text = String(buffer: buffer)
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
        let issued = try await gateway.session(of: .staff())
        let route = try gateway.route("wiki")
        let buffer = try gateway.runtime.identity.lines(
            for: issued.session,
            on: route.route,
            as: route.identity,
            now: gateway.clock.now
        )
        let token = try #require(String(buffer: buffer).split(separator: "Assertion: ").last)
        let parts = token.split(separator: ".")
        let payload = try #require(Base64URL.decode(parts[1].utf8))
        let claims = try JSON(parsing: payload)
        #expect(claims["aud"]?.string == "https://gate.example.com/wiki" && claims["sub"]?.string == "staff:ada")
        #expect(claims["iss"]?.string == "https://gate.example.com" && claims["sid"]?.string == issued.session.id)
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
        let issued = try await gateway.session(of: .staff())
        let route = try gateway.route("wiki")
        let buffer = try gateway.runtime.identity.lines(
            for: issued.session,
            on: route.route,
            as: route.identity,
            now: gateway.clock.now
        )
        let text = String(buffer: buffer)
        #expect(text.contains("X-Forwarded-Groups: ops\r\n"))
        let token = try #require(text.split(separator: "Assertion: ").last)
        let claims = try JSON(parsing: try #require(Base64URL.decode(token.split(separator: ".")[1].utf8)))
        #expect(claims["groups"] == ["ops"])
    }
}
