// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateOpenID
import GateProviders
import Testing

@Suite struct MicrosoftTests {
    private static let base = "https://login.microsoftonline.com"
    private static let tenant = "8eae0000-2b34-4da1-9baa-8bc8c9d6a490"
    private static let consumers = "9188040d-6c67-4c5b-b112-36a304b66dad"

    private func fixture(
        _ tenant: String = "common",
        keyIssuer: String? = "\(base)/{tenantid}/v2.0"
    ) throws -> ProviderFixture {
        var settings = ProviderFixture.settings(.microsoft, id: "microsoft")
        settings.tenant = tenant
        let named = tenant == "common" || tenant == "organizations" ? "{tenantid}" : tenant
        let metadata = ProviderFixture.metadata.with([
            "issuer": .string("\(Self.base)/\(named)/v2.0"),
            "userinfo_endpoint": .string("\(ProviderFixture.issuer)/userinfo"),
        ])
        let fixture = try ProviderFixture(settings, metadata: metadata)
        var more: [String: JSON] = ["use": "sig", "x5t": "k1", "cloud_instance_name": "microsoftonline.com"]
        more["issuer"] = keyIssuer.map(JSON.string)
        fixture.transport.stub("\(ProviderFixture.issuer)/keys", ["keys": [TestKey.rs256.named("k1", more)]])
        return fixture
    }

    private func outcome(_ fixture: ProviderFixture, tenant: String, iss: String? = nil) async throws -> String? {
        let (_, attempt) = try await fixture.begin()
        try fixture.issue(
            for: attempt,
            [
                "iss": .string("\(Self.base)/\(tenant)/v2.0"), "tid": .string(tenant), "nbf": 1_790_000_000,
                "oid": "00000000-1111-2222-3333-444455556666", "email_verified": nil,
            ]
        )
        return await fixture.rejection(fixture.callback(attempt, ["iss": iss]), attempt)
    }

    @Test func `every tenant may sign in with common, whose metadata do not mention S256`() async throws {
        let template = "\(Self.base)/{tenantid}/v2.0"
        #expect(try await self.outcome(try self.fixture(keyIssuer: template), tenant: Self.tenant) == nil)
        #expect(try await self.outcome(try self.fixture(keyIssuer: template), tenant: Self.consumers) == nil)
    }

    @Test func `another tenant than the configured one is turned away`() async throws {
        let fixture = try self.fixture(Self.tenant)
        #expect(try await self.outcome(fixture, tenant: Self.consumers) == "provider.tenant")
        #expect(try await self.outcome(fixture, tenant: Self.tenant) == nil)
        let work = try self.fixture("organizations")
        #expect(try await self.outcome(work, tenant: Self.consumers) == "provider.tenant")
    }

    @Test func `a key of the personal accounts verifies no organization's token`() async throws {
        let fixture = try self.fixture(keyIssuer: "\(Self.base)/\(Self.consumers)/v2.0")
        #expect(try await self.outcome(fixture, tenant: Self.tenant) == "id_token.key_issuer")
        #expect(try await self.outcome(fixture, tenant: Self.consumers) == nil)
    }

    @Test func `a tenant id that is not a GUID is rejected`() async throws {
        #expect(try await self.outcome(try self.fixture(), tenant: "common") == "id_token.issuer")
    }

    @Test func `an issuer in the callback must be that of the token`() async throws {
        let own = "\(Self.base)/\(Self.tenant)/v2.0"
        let other = "\(Self.base)/\(Self.consumers)/v2.0"
        #expect(try await self.outcome(try self.fixture(), tenant: Self.tenant, iss: own) == nil)
        #expect(try await self.outcome(try self.fixture(), tenant: Self.tenant, iss: other) == "openid.issuer_mismatch")
        #expect(
            try await self.outcome(try self.fixture(), tenant: Self.tenant, iss: ProviderFixture.issuer)
                == "openid.issuer_mismatch"
        )
    }

    @Test func `where many tenants may sign in, a key that names no issuer verifies no token`() async throws {
        let silent = try self.fixture(keyIssuer: nil)
        #expect(try await self.outcome(silent, tenant: Self.tenant) == "id_token.key_issuer")
        #expect(try await self.outcome(try self.fixture(Self.tenant, keyIssuer: nil), tenant: Self.tenant) == nil)
    }

    @Test func `a logout token is of a tenant that may sign in, and signed by one of its keys`() async throws {
        func rejection(_ fixture: ProviderFixture, tenant: String) async throws -> String? {
            let claims = fixture.claims.with([
                "iss": .string("\(Self.base)/\(tenant)/v2.0"), "tid": .string(tenant), "jti": "j1",
                "events": ["http://schemas.openid.net/event/backchannel-logout": [:]],
            ])
            do throws(Failure) {
                let text = try? token(claims, by: .rs256)
                let logout = try await fixture.party.logoutToken(text ?? "")
                #expect(logout.issuer == "\(Self.base)/\(tenant)/v2.0")
                return nil
            } catch {
                return error.detail.split(separator: ":").first.map(String.init)
            }
        }
        #expect(try await rejection(try self.fixture(), tenant: Self.tenant) == nil)
        #expect(try await rejection(try self.fixture(Self.tenant), tenant: Self.consumers) == "provider.tenant")
        let personal = try self.fixture(keyIssuer: "\(Self.base)/\(Self.consumers)/v2.0")
        #expect(try await rejection(personal, tenant: Self.tenant) == "id_token.key_issuer")
    }
}
