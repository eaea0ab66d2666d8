// SPDX-License-Identifier: Apache-2.0

import Crypto
import GateCore
import GateProviders
import Testing

@testable import GateOpenID

@Suite struct PushedAuthorizationTests {
    private static let endpoint = "\(ProviderFixture.issuer)/par"

    private func fixture(_ change: (inout ProviderSettings) -> Void = { _ in }) throws -> ProviderFixture {
        var settings = ProviderFixture.settings()
        settings.pushesAuthorization = true
        change(&settings)
        let metadata = ProviderFixture.metadata.with(["pushed_authorization_request_endpoint": .string(Self.endpoint)])
        let fixture = try ProviderFixture(settings, metadata: metadata)
        fixture.transport.stub(
            Self.endpoint,
            201,
            #"{"request_uri":"urn:example:bwc4JK-ESC0w8acc191e-Y1LTC2","expires_in":60}"#
        )
        return fixture
    }

    private func pushed(_ fixture: ProviderFixture) throws -> (form: Form, request: ProviderRequest) {
        let request = try #require(fixture.transport.requests.first { "\($0.address)" == Self.endpoint })
        return (try #require(Form(encoded: String(decoding: request.body ?? [], as: UTF8.self))), request)
    }

    @Test func `the request goes ahead with our proof, and the browser carries a reference alone`() async throws {
        let fixture = try self.fixture { $0.authorizationParameters = [Form.Field("request_uri", "urn:other")] }
        let (location, attempt) = try await fixture.begin()
        let query = "client_id=gate%3Ahouse&request_uri=urn%3Aexample%3Abwc4JK-ESC0w8acc191e-Y1LTC2"
        #expect(location == "\(ProviderFixture.issuer)/authorize?\(query)")
        let (form, request) = try self.pushed(fixture)
        #expect(request.method == "POST" && request.headers.contains { $0.name == "Authorization" })
        #expect(form["response_type"] == "code" && form["client_id"] == "gate:house")
        #expect(form["redirect_uri"] == ProviderFixture.callback && form["state"] == attempt.state)
        #expect(form["nonce"] == attempt.nonce && form["code_challenge"]?.utf8.count == 43)
        #expect(form.single("request_uri") == .absent && form.single("code_verifier") == .absent)
    }

    @Test func `T-10 an assertion for pushed requests is for the issuer, and names us once`() async throws {
        let fixture = try self.fixture { settings in
            settings.privateKey = Secret(text: P256.Signing.PrivateKey().pemRepresentation)
            settings.clientAuthentication = .privateKeyJWT
        }
        _ = try await fixture.begin()
        let form = try self.pushed(fixture).form
        #expect(form["client_id"] == "gate:house")
        let claims = try #require(form["client_assertion"]?.split(separator: ".").dropFirst().first)
        let json = try JSON(parsing: try #require(Base64URL.decode(String(claims))))
        #expect(json["aud"] == .string(ProviderFixture.issuer))
    }

    @Test func `a secret in the body names us once too`() async throws {
        let fixture = try self.fixture { $0.clientAuthentication = .secretPost }
        _ = try await fixture.begin()
        let (form, request) = try self.pushed(fixture)
        #expect(form["client_id"] == "gate:house" && form["client_secret"] == "s+c r/t")
        #expect(!request.headers.contains { $0.name == "Authorization" })
    }

    @Test(
        arguments: [
            (200, #"{"request_uri":"urn:a"}"#, nil), (201, #"{"request_uri":""}"#, .openIDPushedAuthorization),
            (201, #"{"request_uri":"urn:a b"}"#, .openIDPushedAuthorization),
            (201, #"{"request_uri":"urn:é"}"#, .openIDPushedAuthorization),
            (201, #"{"request_uri":1}"#, .openIDPushedAuthorization), (201, "{}", .openIDPushedAuthorization),
            (201, "{\"request_uri\":\"\(String(repeating: "u", count: 2049))\"}", .openIDPushedAuthorization),
            (400, #"{"error":"invalid_request","error_description":"redirect_uri"}"#, .providerRefused),
            (401, #"{"error":"invalid_client"}"#, .openIDClientRefused), (401, "", .openIDClientRefused),
            (400, #"{"error":"invalid_client"}"#, .openIDClientRefused), (404, "", .providerRefused),
            (429, #"{"error":"too_many_requests"}"#, .providerUnavailable),
            (503, #"{"error":"surprise"}"#, .providerUnavailable), (503, "", .providerUnavailable),
            (302, "", .providerRedirected),
        ] as [(Int, String, Failure.Reason?)]
    )
    func `a response is a reference or a failure with the code of its cause`(
        status: Int,
        body: String,
        reason: Failure.Reason?
    ) async throws {
        let fixture = try self.fixture()
        fixture.transport.stub(Self.endpoint, status, body)
        do throws(Failure) {
            _ = try await fixture.party.authorization(returnPath: .root, replacedTicket: nil)
            #expect(reason == nil)
        } catch {
            #expect(error.reason == reason)
        }
    }

    @Test func `strangers have so many requests sent ahead at a time and no more`() async throws {
        let fixture = try self.fixture()
        for _ in 0..<ProviderDefinition.standardConnections / 2 { #expect(fixture.party.pushes.acquire()) }
        let failure = await #expect(throws: Failure.self) { try await fixture.begin() }
        #expect(failure?.reason == .providerBusy && failure?.kind == .overloaded)
        #expect(fixture.transport.count(Self.endpoint) == 0)
        fixture.party.pushes.release()
        for _ in 0..<3 { _ = try await fixture.begin() }
        #expect(fixture.transport.count(Self.endpoint) == 3)
    }
}
