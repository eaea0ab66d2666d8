// SPDX-License-Identifier: Apache-2.0

import Crypto
import GateCore
import GateOpenID
import GateProviders
import Testing

@Suite struct ClaimedGroupsTests {
    private static let graph = "https://graph.microsoft.com/v1.0/me/getMemberObjects"
    private static let tenant = "8eae0000-2b34-4da1-9baa-8bc8c9d6a490"
    private static let search = "https://cloudidentity.googleapis.com/v1/groups/-/memberships:searchDirectGroups"

    private func microsoft(_ groups: [String] = ["graph"]) throws -> ProviderFixture {
        var settings = ProviderFixture.settings(.microsoft, id: "microsoft")
        settings.tenant = Self.tenant
        settings.groups = groups
        let issuer = "https://login.microsoftonline.com/\(Self.tenant)/v2.0"
        var fixture = try ProviderFixture(
            settings,
            metadata: ProviderFixture.metadata.with(["issuer": .string(issuer)])
        )
        fixture.claims = fixture.claims.with([
            "iss": .string(issuer), "tid": .string(Self.tenant), "oid": "00000000-1111-2222-3333-444455556666",
            "name": "Ada", "given_name": "Ada", "family_name": "Example", "preferred_username": "ada@example.org",
            "xms_pl": "en",
        ])
        return fixture
    }

    private func signIn(_ fixture: ProviderFixture, _ changes: [String: JSON?] = [:]) async throws -> FoundUser {
        let (_, attempt) = try await fixture.begin()
        try fixture.issue(for: attempt, changes)
        return try await fixture.signIn(fixture.callback(attempt), attempt)
    }

    private static let overage: [String: JSON?] = [
        "_claim_names": ["groups": "src1"],
        "_claim_sources": ["src1": ["endpoint": "https://graph.windows.net/x/users/y/getMemberObjects"]],
    ]

    @Test func `groups in the token are taken as they are, and Graph is not asked for them`() async throws {
        let fixture = try self.microsoft()
        let signIn = try await self.signIn(fixture, ["groups": ["g1"]])
        #expect(signIn.profile.groups == ["g1"] && signIn.profile.groupsComplete)
        #expect(fixture.transport.count(Self.graph) == 0)
    }

    @Test func `too many groups are asked of Graph, never of the address in the token`() async throws {
        let fixture = try self.microsoft()
        fixture.transport.stub(
            Self.graph,
            ["value": ["g2", "g1"], "@odata.nextLink": .string("\(Self.graph)?$skip=2")]
        )
        fixture.transport.stub("\(Self.graph)?$skip=2", ["value": ["g3"]])
        let signIn = try await self.signIn(fixture, Self.overage)
        #expect(signIn.profile.groups == ["g1", "g2", "g3"] && signIn.profile.groupsComplete)
        #expect(!fixture.transport.addresses.contains { $0.contains("graph.windows.net") })
        let calls = fixture.transport.requests.filter { $0.address.path.hasSuffix("getMemberObjects") }
        #expect(calls.map(\.method) == ["POST", "GET"])
        #expect(calls.first?.body.map { String(decoding: $0, as: UTF8.self) } == #"{"securityEnabledOnly":false}"#)
        #expect(calls.first?.headers.contains { $0.name == "Content-Type" && $0.value == "application/json" } == true)
    }

    @Test func `a next page of Graph on another host is never called`() async throws {
        let fixture = try self.microsoft()
        fixture.transport.stub(Self.graph, ["value": ["g1"], "@odata.nextLink": "https://graph.windows.net/x"])
        let signIn = try await self.signIn(fixture, Self.overage)
        #expect(signIn.profile.groups == ["g1"] && !signIn.profile.groupsComplete)
        #expect(!fixture.transport.addresses.contains { $0.contains("graph.windows.net") })
    }

    @Test func `Graph's rejection leaves the groups unknown and is reported`() async throws {
        let fixture = try self.microsoft()
        let error: JSON = ["error": ["code": "Authorization_RequestDenied", "message": "Insufficient privileges"]]
        fixture.transport.stub(Self.graph, error, status: 403, fields: [:])
        let signIn = try await self.signIn(fixture, Self.overage)
        #expect(signIn.profile.groups.isEmpty && !signIn.profile.groupsComplete)
        #expect(signIn.notes.first?.contains("Insufficient privileges") == true)
    }

    @Test func `too many groups without a look-up are unknown, which is reported`() async throws {
        let fixture = try self.microsoft([])
        let signIn = try await self.signIn(fixture, Self.overage)
        #expect(!signIn.profile.groupsComplete && signIn.notes.count == 1)
        #expect(fixture.reports.all.map(\.code) == ["provider.groups_incomplete"])
        #expect(!fixture.transport.addresses.contains { $0.contains("graph") })
    }

    private func google(_ email: JSON, verified: JSON = true) throws -> ProviderFixture {
        var settings = ProviderFixture.settings(.google, id: "google")
        settings.groups = ["direct"]
        var fixture = try ProviderFixture(
            settings,
            metadata: ProviderFixture.metadata.with(["issuer": "https://accounts.google.com"])
        )
        fixture.claims = fixture.claims.with([
            "iss": "https://accounts.google.com", "email": email, "email_verified": verified, "hd": "example.org",
        ])
        return fixture
    }

    private static func query(_ email: String, _ more: [Form.Field] = []) -> String {
        let text = "member_key_id == '\(email)' && 'cloudidentity.googleapis.com/groups.discussion_forum' in labels"
        return "\(Self.search)?\(Form([Form.Field("query", text)] + more).encoded)"
    }

    @Test func `Google's groups come page by page, by a token`() async throws {
        let fixture = try self.google("Ada.L+x_y-z@example.org")
        let token = Form.Field("pageToken", "a&b=c/+")
        fixture.transport.stub(
            Self.query("Ada.L+x_y-z@example.org"),
            ["memberships": [["groupKey": ["id": "eng@example.org"]]], "nextPageToken": .string(token.value)]
        )
        fixture.transport.stub(Self.query("Ada.L+x_y-z@example.org", [token]), [:])
        let signIn = try await self.signIn(fixture)
        #expect(signIn.profile.groups == ["eng@example.org"] && signIn.profile.groupsComplete)
    }

    @Test func `a page token that comes back, or is not a string, ends the list unfinished`() async throws {
        for token in ["t", 1, .string(String(repeating: "t", count: 4097))] as [JSON] {
            let fixture = try self.google("ada@example.org")
            let page: JSON = ["memberships": [["groupKey": ["id": "e@example.org"]]], "nextPageToken": token]
            fixture.transport.stub(Self.query("ada@example.org"), page)
            fixture.transport.stub(Self.query("ada@example.org", [Form.Field("pageToken", "t")]), page)
            let signIn = try await self.signIn(fixture)
            #expect(signIn.profile.groups == ["e@example.org"] && !signIn.profile.groupsComplete)
            #expect(fixture.transport.requests.filter { $0.address.origin.host.hasPrefix("cloudidentity") }.count <= 2)
        }
    }

    @Test(
        arguments: [
            ("x'||true||'@example.org", true), ("ada'@example.org", true), ("ada@example.org", false), (nil, true),
            ("a\\@example.org", true), ("ada{email}@example.org", true), ("ada~@example.org", true),
            ("ad\u{E1}@example.org", true), ("ada%27@example.org", true), ("ada&x@example.org", true),
        ] as [(JSON?, JSON)]
    )
    func `an address that could be more than an address in the query is not asked about`(
        email: JSON?,
        verified: JSON
    ) async throws {
        let fixture = try self.google(email ?? .null, verified: verified)
        let signIn = try await self.signIn(fixture)
        #expect(signIn.profile.groups.isEmpty && !signIn.profile.groupsComplete && signIn.notes.count == 1)
        #expect(!fixture.transport.addresses.contains { $0.contains("cloudidentity") })
    }

    @Test func `Facebook's calls prove that we know the secret`() async throws {
        let fixture = try ProviderFixture(ProviderFixture.settings(.facebook, id: "facebook"))
        let token: JSON = ["access_token": "EAAB", "token_type": "bearer", "expires_in": 5_183_944]
        fixture.transport.stub("https://graph.facebook.com/v23.0/oauth/access_token", token)
        let code = HMAC<SHA256>.authenticationCode(
            for: Array("EAAB".utf8),
            using: SymmetricKey(data: Array("s+c r/t".utf8))
        )
        let digits = code.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        let fields = "fields=id,name,first_name,last_name,email,picture.width(200)"
        let address = "https://graph.facebook.com/v23.0/me?\(fields)&appsecret_proof=\(digits)"
        fixture.transport.stub(address, ["id": "10158", "name": "Ada Example"])
        let (_, attempt) = try await fixture.begin()
        let signIn = try await fixture.signIn(fixture.callback(attempt), attempt)
        #expect(signIn.profile.subject == "10158" && signIn.profile.name == "Ada Example")
        #expect(signIn.tokens.lifetime == .seconds(5_183_944) && signIn.tokens.idTokenLifetime == nil)
        fixture.transport.stub(
            address,
            ["error": ["message": "Invalid proof", "type": "OAuthException", "code": 100]]
        )
        let (_, second) = try await fixture.begin()
        #expect(await fixture.rejection(fixture.callback(second), second) == "provider.api_refused")
    }

    @Test func `the retry time of an overloaded API is kept`() async throws {
        let fixture = try ProviderFixture(ProviderFixture.settings(.github, id: "github"))
        fixture.transport.stub(
            "https://github.com/login/oauth/access_token",
            ["access_token": "gho_INVENTED", "token_type": "bearer"]
        )
        for status in [403, 429] {
            fixture.transport.stub("https://api.github.com/user", [:], status: status, fields: ["Retry-After": "60"])
            let (_, attempt) = try await fixture.begin()
            let failure = await fixture.failure(fixture.callback(attempt), attempt)
            #expect(failure?.reason == .providerUnavailable && failure?.detail.contains("Retry-After \"60\"") == true)
        }
    }

    @Test func `the lifetimes of the tokens are reported`() async throws {
        let fixture = try ProviderFixture()
        let signIn = try await self.signIn(fixture)
        #expect(signIn.tokens.idTokenLifetime == .seconds(3600) && signIn.tokens.lifetime == nil)
        #expect(signIn.tokens.scopes == nil && signIn.notes.isEmpty)
    }

    @Test func `what a provider repeats of our secrets does not reach the log`() async throws {
        var settings = ProviderFixture.settings()
        settings.profile = ["subject": ["userinfo:/employee", "id_token:/sub"]]
        let fixture = try ProviderFixture(settings)
        let (_, first) = try await fixture.begin()
        fixture.transport.stub(
            "\(ProviderFixture.issuer)/token",
            400,
            #"{"error":"invalid_client","error_description":"got s+c r/t with \#(first.verifier) and code-4711"}"#
        )
        let failure = await fixture.failure(fixture.callback(first, ["code": "code-4711"]), first)
        #expect(failure?.reason == .openIDClientRefused && failure?.detail.contains("<secret>") == true)
        for secret in ["s+c r/t", first.verifier, "code-4711"] {
            #expect(failure?.detail.contains(secret) == false)
        }
        let (_, second) = try await fixture.begin()
        try self.reissue(fixture, second)
        fixture.transport.stub(
            "\(ProviderFixture.issuer)/userinfo",
            401,
            #"{"error":"invalid_token","message":"at-secret-1"}"#
        )
        let refused = await fixture.failure(fixture.callback(second), second)
        #expect(refused?.code == "provider.api_refused" && refused?.detail.contains("at-secret-1") == false)
    }

    @Test func `what userinfo repeats of our secrets is in no report of a sign-in that goes on`() async throws {
        let fixture = try ProviderFixture()
        let (_, attempt) = try await fixture.begin()
        try self.reissue(fixture, attempt)
        let repeated = #"{"error":"invalid_token","message":"at-secret-1"}"#
        fixture.transport.stub("\(ProviderFixture.issuer)/userinfo", 401, repeated)
        #expect(await fixture.failure(fixture.callback(attempt), attempt) == nil)
        #expect(fixture.reports.all.count == 1 && fixture.reports.all.allSatisfy { !$0.detail.contains("at-secret-1") })
    }

    private func reissue(_ fixture: ProviderFixture, _ attempt: Attempt) throws {
        let text = try token(fixture.claims.with(["nonce": .string(attempt.nonce)]), by: .rs256)
        fixture.transport.stub(
            "\(ProviderFixture.issuer)/token",
            ["access_token": "at-secret-1", "token_type": "Bearer", "id_token": .string(text)]
        )
    }
}
