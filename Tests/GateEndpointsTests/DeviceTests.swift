// SPDX-License-Identifier: Apache-2.0

import GateClients
import GateConfiguration
import GateCore
import GateFixtures
import GateHTTP
import GatePolicy
import GateSessions
import GateTestSupport
import Testing

@testable import GateEndpoints
@testable import GateRuntime

/// The page for the code of a device, RFC 8628.
@Suite struct DeviceTests {
    private static let page = "https://\(GatewayFixture.gate)/oauth2/device"

    /// A sign-in that a device has begun at the client `notes`: its code, and that which the user types.
    private func begin(at fixture: ClientFixture) async throws -> (device: String, user: String) {
        let json = try await fixture.post("device_authorization", [("scope", "openid")]).json
        return (try #require(json["device_code"]?.string), try #require(json["user_code"]?.string))
    }

    private func open(_ code: String, at fixture: ClientFixture) async throws -> Response {
        try await fixture.browser.open("\(Self.page)?user_code=\(code)")
    }

    /// The form of the page with the user's choice.
    private func form(of page: Response, choice: String = "allow") throws -> String {
        let field = try #require(page.text.firstMatch(of: /name="consent" value="([^"]+)"/))
        return Form([Form.Field("consent", String(field.1)), Form.Field("choice", choice)]).encoded
    }

    private func post(_ form: String, at fixture: ClientFixture) async throws -> Response {
        let lines = "Accept: text/html\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        return try await fixture.browser.open(Self.page, method: "POST", body: form, lines)
    }

    /// The audiences of the access token for a device code; nil without one.
    private func audiences(of device: String, at fixture: ClientFixture) async throws -> [String]? {
        let fields = [("grant_type", GrantType.deviceCode.rawValue), ("device_code", device)]
        let token = try await fixture.post("token", fields).json["access_token"]?.string
        guard let parts = token?.split(separator: "."), parts.count == 3,
            let bytes = Base64URL.decode(String(parts[1])), let claims = try? JSON(parsing: bytes)
        else { return nil }
        guard let several = claims["aud"]?.array else { return [claims["aud"]?.string ?? ""] }
        return several.compactMap(\.string)
    }

    private func signedIn(_ app: (inout AppSettings) -> Void = { _ in }) async throws -> ClientFixture {
        let fixture = try ClientFixture(app: app)
        try await fixture.browser.open(try await fixture.browser.begin("staff"))
        return fixture
    }

    private func closed(_ app: inout AppSettings) {
        if app.route.app == "desk" { app.route.access = .entries([]) }
    }

    // Q-07
    @Test(arguments: [true, false])
    func `a device gets the apps that the page has shown, whatever a reload admits before or after`(
        reloadsBefore: Bool
    ) async throws {
        let fixture = try await self.signedIn(self.closed)
        let codes = try await self.begin(at: fixture)
        let page = try await self.open(codes.user, at: fixture)
        #expect(page.text.contains("<li>shop</li>") && !page.text.contains("<li>desk</li>"))
        let form = try self.form(of: page)
        let later = try ClientFixture(sharing: fixture)
        #expect(try await self.post(form, at: reloadsBefore ? later : fixture).status == 200)
        #expect(try await self.audiences(of: codes.device, at: later) == [ClientFixture.shop, ClientFixture.userinfo])
    }

    // Q-07
    @Test func `a device gets no app that the user may not enter any more`() async throws {
        let fixture = try await self.signedIn()
        let codes = try await self.begin(at: fixture)
        let form = try self.form(of: try await self.open(codes.user, at: fixture))
        let later = try ClientFixture(sharing: fixture, app: self.closed)
        #expect(try await self.post(form, at: later).status == 200)
        // Nor later, when the user may again.
        #expect(
            try await self.audiences(of: codes.device, at: fixture) == [ClientFixture.shop, ClientFixture.userinfo]
        )
    }

    // Q-07
    @Test func `the form of the page decides once, about the code that it shows`() async throws {
        let fixture = try await self.signedIn()
        let (first, second) = (try await self.begin(at: fixture), try await self.begin(at: fixture))
        let form = try self.form(of: try await self.open(first.user, at: fixture), choice: "deny")
        #expect(try await self.post(form, at: fixture).status == 200)
        #expect(try await self.post(try self.allowing(form), at: fixture).status == 404)
        #expect(try await self.audiences(of: first.device, at: fixture) == nil)
        #expect(try await self.audiences(of: second.device, at: fixture) == nil)
        fixture.gateway.clock.advance(by: 600)
        let late = try self.form(of: try await self.open(try await self.begin(at: fixture).user, at: fixture))
        fixture.gateway.clock.advance(by: 600)
        #expect(try await self.post(late, at: fixture).status == 400)
    }

    // Q-07
    @Test func `the form of one sign-in decides nothing in another`() async throws {
        let fixture = try await self.signedIn()
        let codes = try await self.begin(at: fixture)
        let form = try self.form(of: try await self.open(codes.user, at: fixture))
        fixture.browser.jar = [:]
        try await fixture.browser.open(try await fixture.browser.begin("staff"))
        let response = try await self.post(form, at: fixture)
        #expect(response.status == 303 && response.location == "\(Self.page)?user_code=\(codes.user)")
        #expect(try await self.audiences(of: codes.device, at: fixture) == nil)
    }

    private func allowing(_ form: String) throws -> String {
        form.replacing("choice=deny", with: "choice=allow")
    }

    // Q-13, E-12
    @Test func `wrong codes of one user are counted, and stop no other user`() async throws {
        let fixture = try await self.signedIn()
        let wrong = ["BBBB-BBBB", "CCCC-CCCC"]
        for attempt in 0..<DeviceLimiter.attempts {
            #expect(try await self.open(wrong[attempt % 2], at: fixture).status == 404)
        }
        let codes = try await self.begin(at: fixture)
        #expect(try await self.open(codes.user, at: fixture).status == 429)
        let ada = fixture.browser.jar
        fixture.browser.jar = [:]
        let grace: [String: JSON] = ["sub": "grace", "email": "grace@example.org", "email_verified": true]
        try await fixture.browser.open(try await fixture.browser.begin("staff", as: grace))
        #expect(try await self.open(codes.user, at: fixture).status == 200)
        // Right codes do not count.
        for _ in 0...DeviceLimiter.attempts { #expect(try await self.open(codes.user, at: fixture).status == 200) }
        fixture.browser.jar = ada
        #expect(try await self.open(codes.user, at: fixture).status == 429)
    }

    @Test func `E-12: wrong codes at one gateway count at all others over the same store`() async throws {
        let one = try await self.signedIn()
        let other = try ClientFixture(sharing: one)
        other.browser.jar = one.browser.jar
        for attempt in 0..<DeviceLimiter.attempts {
            #expect(try await self.open("BBBB-BBBB", at: attempt.isMultiple(of: 2) ? one : other).status == 404)
        }
        let codes = try await self.begin(at: one)
        for gateway in [one, other] { #expect(try await self.open(codes.user, at: gateway).status == 429) }
    }
}
