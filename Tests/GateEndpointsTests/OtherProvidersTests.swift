// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateFixtures
import GateHTTP
import GateHeaders
import GatePages
import GateProviders
import GateTestSupport
import GateWire
import Testing

@testable import GateEndpoints

@testable import GateRuntime

private let gate = "https://\(GatewayFixture.gate)"

/// What a page offers when the provider that a user chose fails.
@Suite struct OtherProvidersTests {
    private static let failure = Failure(.providerPinMismatch, "")

    /// Where the page's buttons lead.
    private func others(
        _ target: String,
        after failure: Failure = OtherProvidersTests.failure,
        _ gateway: GatewayFixture? = nil
    ) throws -> [String] {
        let gateway = try gateway ?? GatewayFixture()
        let head = try gateway.head("GET \(target)", GatewayFixture.gate, "Accept: text/html\r\n")
        let downstream = ForwardedHead.Downstream(peer: nil, peerText: "192.0.2.1", isSecure: true, isTrusted: false)
        let request = EndpointRequest(
            head,
            body: [],
            downstream: downstream,
            runtime: gateway.runtime,
            now: gateway.clock.now
        )
        return Endpoints(runtime: gateway.runtime).otherProviders(for: request, after: failure).buttons.map(\.address)
    }

    @Test(
        arguments: [
            ("/oauth2/start/staff?rd=%2Fx%3Fa%3Db", "/start/guests?rd=%2Fx%3Fa%3Db"),
            ("/oauth2/start/guests?rd=%2F", "/start/staff?rd=%2F"), ("/oauth2/start/staff", "/start/guests?rd=%2F"),
            ("/oauth2/start/staff?rd=https%3A%2F%2Fevil.example", "/start/guests?rd=%2F"),
            ("/oauth2/callback/staff?state=x", "/start/guests?rd=%2F"),
        ]
    )
    func `the other providers are offered, with the return path`(target: String, path: String) throws {
        #expect(try self.others(target) == ["\(gate)/oauth2\(path)"])
    }

    @Test(arguments: [("/wiki/a", "staff"), ("/lounge", "guests")])
    func `a provider that the app does not accept is not offered`(path: String, provider: String) throws {
        #expect(try self.others("/oauth2/start/\(provider)?rd=\(path)").isEmpty)
    }

    @Test func `a user who chose a provider that the app does not accept is offered one that it does`() throws {
        #expect(try self.others("/oauth2/start/guests?rd=/wiki") == ["\(gate)/oauth2/start/staff?rd=%2Fwiki"])
    }

    @Test(
        arguments: [
            Failure(.providerUnreachable, ""), Failure(.providerPinsExpired, ""),
            Failure(.providerBusy, ""),
        ]
    )
    func `the other providers are offered for any failure of the provider`(failure: Failure) throws {
        #expect(try self.others("/oauth2/start/staff", after: failure).count == 1)
    }

    @Test(
        arguments: [
            Failure(.providerDenied, ""), Failure(.policyRefused, ""),
            Failure(.openIDAttemptLost, ""), Failure(.providerUnknown, ""),
            Failure(.sessionStoreUnavailable, ""), Failure(.providerNone, ""),
        ]
    )
    func `no provider is offered if another failure ended the sign-in`(failure: Failure) throws {
        #expect(try self.others("/oauth2/start/staff", after: failure).isEmpty)
    }

    @Test(arguments: ["/oauth2/sign_in?rd=%2F", "/oauth2/userinfo", "/oauth2/handover?request=x", "/oauth2"])
    func `no provider is offered where none was chosen`(target: String) throws {
        #expect(try self.others(target).isEmpty)
    }

    @Test(arguments: [("shop", ["guests"]), ("desk", [])])
    func `a session transfer to an app's host offers that app's providers`(app: String, providers: [String]) throws {
        let gateway = try GatewayFixture()
        let head = try gateway.head("GET /cart", "\(app).example.com", "Sec-Fetch-Mode: navigate\r\n")
        let toGateway = try #require(
            SignInRedirect(runtime: gateway.runtime).response(for: head, route: try gateway.route(app)).location
        )
        let back = try #require(ReturnPath(String(toGateway.dropFirst(gate.count))))
        let query = Form([Form.Field("rd", back.value)]).encoded
        let others = try self.others("/oauth2/start/staff?\(query)", gateway)
        #expect(others == providers.map { "\(gate)/oauth2/start/\($0)?\(query)" })
    }
}

/// The same, as a user gets it.
@Suite struct OtherProvidersPageTests {
    /// A gateway whose provider `staff` has no metadata.
    private func gateway() throws -> GatewayFixture {
        try GatewayFixture(provider: { if $0.id == "staff" { $0.issuer = "https://id.staff.example/gone" } })
    }

    @Test func `a user whose provider fails at the start is offered the others`() async throws {
        let page = try await Browser(try self.gateway()).open("\(gate)/oauth2/start/staff?rd=%2Fx")
        #expect(page.status == 502 && page.text.contains("\(gate)/oauth2/start/guests?rd=%2Fx"))
        #expect(!page.text.contains("start/staff"))
    }

    @Test func `a user without another provider is offered to begin again`() async throws {
        let page = try await Browser(try self.gateway()).open("\(gate)/oauth2/start/staff?rd=%2Fwiki")
        #expect(page.status == 502 && !page.text.contains("/oauth2/start/"))
        #expect(page.text.contains("\(gate)/oauth2/sign_in"))
    }

    @Test func `a script gets the code only`() async throws {
        let response = try await Browser(try self.gateway()).open(
            "\(gate)/oauth2/start/staff?rd=%2Fx",
            "Accept: */*\r\n"
        )
        #expect(response.status == 502 && response.code != nil && !response.text.contains("start/guests"))
    }

    @Test func `after the provider's callback the return path is that of the attempt`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        let callback = try await browser.begin("staff", returnPath: "/x?a=b")
        gateway.providers.setClaims(Browser.ada.merging(["nonce": "another"]) { $1 })
        let page = try await browser.open("\(callback)&rd=%2Felsewhere")
        #expect(page.status == 502 && page.text.contains("\(gate)/oauth2/start/guests?rd=%2Fx%3Fa%3Db"))
        #expect(!page.text.contains("elsewhere"))
    }
}
