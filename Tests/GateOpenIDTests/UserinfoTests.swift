// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateOpenID
import GateProviders
import Testing

@Suite struct UserinfoTests {
    private static let address = "\(ProviderFixture.issuer)/userinfo"
    private static let signed: JSON = [
        "iss": .string(ProviderFixture.issuer), "aud": "gate:house", "sub": "ada", "name": "Ada Signed",
        "email": "ada@example.net", "email_verified": true, "groups": ["platform"],
    ]

    /// An ID token with no claims of the profile but the subject.
    private static let bare: [String: JSON?] = ["email": nil, "email_verified": nil]

    private func signIn(
        _ fixture: ProviderFixture,
        _ changes: [String: JSON?] = Self.bare
    ) async throws -> Result<FoundUser, Failure> {
        let (_, attempt) = try await fixture.begin()
        try fixture.issue(for: attempt, changes)
        do throws(Failure) {
            return .success(try await fixture.signIn(fixture.callback(attempt), attempt))
        } catch {
            return .failure(error)
        }
    }

    private func code(_ result: Result<FoundUser, Failure>) -> String? {
        guard case .failure(let failure) = result else { return nil }
        return failure.code
    }

    // MARK: Signed

    private func stubUserinfo(_ fixture: ProviderFixture, _ text: String) {
        fixture.transport.stub(Self.address, 200, text, type: "application/jwt; charset=utf-8")
    }

    @Test func `W-07: userinfo that is signed is verified and read`() async throws {
        let fixture = try ProviderFixture()
        self.stubUserinfo(fixture, try token(Self.signed, by: .rs256, header: ["typ": nil]))
        let profile = try await self.signIn(fixture).get().profile
        #expect(profile.name == "Ada Signed" && profile.verifiedEmail?.description == "ada@example.net")
        #expect(profile.groups == ["platform"])
    }

    @Test(
        arguments: [
            ["iss": "https://evil.example"], ["iss": nil], ["aud": "other"], ["aud": nil],
            ["aud": ["gate:house", "api"]],
            ["sub": nil], ["exp": 1_000], ["nbf": 1_890_000_000],
        ] as [[String: JSON?]]
    )
    func `W-07: signed userinfo follows the rules of ID tokens`(changes: [String: JSON?]) async throws {
        let fixture = try ProviderFixture()
        self.stubUserinfo(fixture, try token(Self.signed.with(changes), by: .rs256))
        #expect(self.code(try await self.signIn(fixture)) == "openid.userinfo_token")
    }

    @Test func `W-07: userinfo of another subject, by another key, unsigned or encrypted ends the sign-in`()
        async throws
    {
        let good = try token(Self.signed, by: .rs256)
        let unsigned = good.split(separator: ".").prefix(2).joined(separator: ".") + "."
        let encrypted = "\(Base64URL.encode(Array(#"{"alg":"RSA-OAEP","enc":"A256GCM"}"#.utf8))).AAAA.AAAA.AAAA.AAAA"
        for (text, code) in [
            (try token(Self.signed.with(["sub": "eve"]), by: .rs256), "openid.userinfo_subject"),
            (try token(Self.signed, by: .otherRS256), "openid.userinfo_token"), (unsigned, "openid.userinfo_token"),
            (try token(Self.signed, by: .rs512), "openid.userinfo_token"), (encrypted, "openid.userinfo_token"),
            (try token(Self.signed, by: .rs256, header: ["typ": "logout+jwt"]), "openid.userinfo_token"),
        ] {
            let fixture = try ProviderFixture()
            self.stubUserinfo(fixture, text)
            #expect(self.code(try await self.signIn(fixture)) == code)
        }
        let fixture = try ProviderFixture()
        self.stubUserinfo(fixture, encrypted)
        guard case .failure(let failure) = try await self.signIn(fixture) else { return }
        #expect(
            failure.detail.contains("id_token.encrypted") && failure.detail.contains("userinfo_encrypted_response_alg")
        )
    }

    // MARK: Needed

    /// An ID token with all that providers put there for the scopes `profile` and `email`, and the groups.
    private static let full: [String: JSON?] = [
        "name": "Ada", "preferred_username": "ada", "email": "ada@example.org", "groups": ["platform"],
    ]

    private func calls(
        _ changes: [String: JSON?],
        profile: [String: [String]] = [:],
        usedFields: Set<ProfileField> = [],
        looksUpGroups: Bool = true
    ) async throws -> Int {
        var settings = ProviderFixture.settings()
        settings.profile = profile
        settings.usedFields = usedFields
        let fixture = try ProviderFixture(settings)
        let (_, attempt) = try await fixture.begin()
        try fixture.issue(for: attempt, Self.full.merging(changes) { $1 })
        _ = try await fixture.signIn(fixture.callback(attempt), attempt, looksUpGroups: looksUpGroups)
        return fixture.transport.count(Self.address)
    }

    @Test func `userinfo is not called for what the ID token has`() async throws {
        #expect(try await self.calls([:]) == 0)
        // A flag of userinfo would not speak of the address of the ID token.
        #expect(try await self.calls(["email_verified": nil]) == 0)
        #expect(try await self.calls(["groups": []]) == 0)
    }

    @Test(arguments: ["name", "preferred_username", "email", "groups"])
    func `userinfo is called for each of these that the ID token lacks`(claim: String) async throws {
        #expect(try await self.calls([claim: nil]) == 1)
        #expect(try await self.calls([claim: .null]) == 1)
    }

    @Test func `groups alone do not lead to userinfo unless a rule or an app needs them`() async throws {
        #expect(try await self.calls(["groups": nil], looksUpGroups: false) == 0)
        #expect(try await self.calls(["groups": nil, "name": nil], looksUpGroups: false) == 1)
    }

    @Test(arguments: [("given_name", ProfileField.givenName), ("picture", .picture), ("locale", .locale)])
    func `M-01 userinfo is called for a field beside the name that an app names`(
        claim: String,
        field: ProfileField
    )
        async throws
    {
        #expect(try await self.calls([:]) == 0)
        #expect(try await self.calls([:], usedFields: [field]) == 1)
        #expect(try await self.calls([claim: "en"], usedFields: [field]) == 0)
    }

    @Test func `userinfo is called for what an operator reads from there`() async throws {
        #expect(try await self.calls([:], profile: ["picture": ["userinfo:/avatar"]]) == 1)
        #expect(try await self.calls([:], profile: ["name": ["userinfo:/name", "id_token:/name"]]) == 1)
        #expect(try await self.calls([:], profile: ["name": ["id_token:/name", "userinfo:/name"]]) == 0)
    }

    // MARK: Down

    private func down(_ fixture: ProviderFixture, _ status: Int?) {
        guard let status else { return fixture.transport.fail(Self.address) }
        fixture.transport.stub(Self.address, status, "<html>", type: "text/html")
    }

    @Test(arguments: [nil, 500, 502, 503, 429] as [Int?])
    func `W-11: userinfo that is down does not end a sign-in, and what only it contains is unknown`(
        status: Int?
    ) async throws {
        let fixture = try ProviderFixture()
        self.down(fixture, status)
        let signIn = try await self.signIn(fixture).get()
        let profile = signIn.profile
        #expect(profile.user == "staff:ada" && profile.name == nil && profile.username == nil)
        #expect(profile.verifiedEmail == nil && !profile.emailVerified)
        #expect(profile.groups.isEmpty && !profile.groupsComplete && !profile.isOutside(group: "banned"))
        #expect(fixture.reports.all.map(\.code) == ["provider.userinfo_unavailable"])
        #expect(signIn.notes.count == 1)
    }

    @Test func `W-11: the claims of the ID token stay known`() async throws {
        let fixture = try ProviderFixture()
        self.down(fixture, 503)
        let changes: [String: JSON?] = ["name": "Ada Token", "groups": ["platform"]]
        let profile = try await self.signIn(fixture, changes).get().profile
        #expect(profile.name == "Ada Token" && profile.verifiedEmail?.description == "ada@example.org")
        #expect(profile.groups == ["platform"] && profile.groupsComplete)
        // Userinfo would have been asked for the username before the next claim.
        #expect(try await self.signIn(fixture, ["nickname": "ada-nick"]).get().profile.username == nil)
    }

    @Test func `W-11: an address that userinfo should have given is not replaced by another`() async throws {
        var settings = ProviderFixture.settings()
        settings.profile = [
            "email": ["userinfo:/email", "id_token:/email"], "groups": ["userinfo:/groups", "const:all"],
        ]
        let fixture = try ProviderFixture(settings)
        self.down(fixture, nil)
        let profile = try await self.signIn(fixture, [:]).get().profile
        #expect(profile.email == nil && profile.groups.isEmpty && !profile.groupsComplete)
    }

    @Test func `W-11: a sign-in fails if the subject comes from userinfo that is down`() async throws {
        var settings = ProviderFixture.settings()
        settings.profile = ["subject": ["userinfo:/employee", "id_token:/sub"]]
        let fixture = try ProviderFixture(settings)
        self.down(fixture, 503)
        #expect(self.code(try await self.signIn(fixture)) == "provider.unavailable")
        fixture.transport.stub(Self.address, ["sub": "ada", "employee": "4711"])
        #expect(try await self.signIn(fixture).get().profile.user == "staff:4711")
    }

    @Test(arguments: [
        (401, "{}", "application/json"), (401, #"{"error":"invalid_token"}"#, "application/json"),
        (403, "", "text/html"),
        (403, #"{"error":"insufficient_scope"}"#, "application/json"), (404, "<html>", "text/html"),
        (400, "", "text/plain"),
        (405, "{}", "application/json"), (302, "", "text/html"), (307, "", "text/html"), (200, "", "application/json"),
        (200, "{", "application/json"), (200, "<html>", "text/html"), (200, "null", "application/json"),
        (200, "[]", "application/json"), (200, #"{"name":"Eve"}"#, "application/json"), (204, "", "application/json"),
        (200, #"{"sub":1,"name":"Eve"}"#, "application/json"), (200, #"{"sub":null}"#, "application/json"),
        (200, #"{"ok":false,"error":"token_revoked"}"#, "application/json"), (418, "", "text/plain"),
        (200, "{\"sub\":\"ada\",\"name\":\"\(String(repeating: "x", count: 300_000))\"}", "application/json"),
    ])
    func `G-10 userinfo without claims does not end a sign-in, and what only it contains is unknown`(
        status: Int,
        body: String,
        type: String
    ) async throws {
        let fixture = try ProviderFixture()
        fixture.transport.stub(Self.address, status, body, type: type)
        let signIn = try await self.signIn(fixture).get()
        let profile = signIn.profile
        #expect(profile.user == "staff:ada" && profile.name == nil && profile.username == nil)
        #expect(profile.verifiedEmail == nil && !profile.emailVerified)
        #expect(profile.groups.isEmpty && !profile.groupsComplete && !profile.isOutside(group: "banned"))
        #expect(fixture.reports.all.map(\.code) == ["provider.userinfo_unavailable"])
        #expect(signIn.notes.count == 1)
    }

    @Test(arguments: [403, 503])
    func `G-10 roles that only userinfo lists are unknown, so that no user passes a denial of one`(
        status: Int
    ) async throws {
        var settings = ProviderFixture.settings()
        settings.profile = ["roles": ["id_token:/roles", "userinfo:/roles"]]
        let fixture = try ProviderFixture(settings)
        fixture.transport.stub(Self.address, status, "{}")
        #expect(try await self.signIn(fixture).get().profile.rolesComplete == false)
        let listed = try await self.signIn(fixture, ["roles": ["a"]]).get().profile
        #expect(listed.roles == ["a"] && listed.rolesComplete)
        fixture.transport.stub(Self.address, ["sub": "ada"])
        #expect(try await self.signIn(fixture).get().profile.rolesComplete)
    }

    @Test func `G-10 a sign-in fails if the subject comes from userinfo that rejects the token`() async throws {
        var settings = ProviderFixture.settings()
        settings.profile = ["subject": ["userinfo:/employee", "id_token:/sub"]]
        let fixture = try ProviderFixture(settings)
        fixture.transport.stub(Self.address, 403, "", type: "text/html")
        #expect(self.code(try await self.signIn(fixture)) == "provider.api_refused")
    }

    @Test func `W-11: a response about another user still ends a sign-in`() async throws {
        let fixture = try ProviderFixture()
        fixture.transport.stub(Self.address, 200, #"{"sub":"eve"}"#, type: "application/json")
        #expect(self.code(try await self.signIn(fixture)) == "openid.userinfo_subject")
    }
}
