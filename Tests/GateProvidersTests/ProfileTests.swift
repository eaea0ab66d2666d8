// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProviders
import Testing

@Suite struct ProfileTests {
    private func profile(
        _ settings: ProviderSettings,
        _ payloads: ProviderPayloads
    ) throws(Failure) -> Profile {
        try ProviderDefinition(settings).profile(from: payloads).profile
    }

    @Test func `Google's ID token gives the whole profile`() throws {
        let profile = try self.profile(settings(.google), ProviderPayloads(idToken: Payloads.google))
        var expected = Profile(
            provider: "google",
            issuer: "https://accounts.google.com",
            subject: "104729384756102938475"
        )
        expected.tenant = "example.org"
        expected.username = "ada"
        expected.name = "Ada Example"
        expected.givenName = "Ada"
        expected.familyName = "Example"
        expected.email = "ada@example.org"
        expected.emailVerified = true
        expected.emailAuthoritative = true
        expected.picture = "https://lh3.googleusercontent.com/a/INVENTED=s96-c"
        expected.groupsComplete = false
        #expect(profile == expected)
        #expect(profile.user == "google:104729384756102938475")
    }

    @Test(
        arguments: [
            (JSON.bool(true), true), ("true", true), ("1", true), (1, true), (false, false), ("false", false),
            ("yes", false), (.null, false), (["true"], false), (nil, false),
        ] as [(JSON?, Bool)]
    )
    func `a verified flag is read in all its spellings and false in doubt`(flag: JSON?, verified: Bool) throws {
        let claims = Payloads.google.with(["email_verified": flag])
        let profile = try self.profile(settings(.google), ProviderPayloads(idToken: claims))
        #expect(profile.emailVerified == verified)
        #expect(profile.emailAuthoritative == verified)
    }

    @Test(arguments: [("ada@gmail.com", true), ("ada@example.org", false), ("ada@gmail.com.example.org", false)])
    func `of consumer accounts Google is the authority for gmail only`(email: String, authoritative: Bool) throws {
        let claims = Payloads.google.with(["hd": nil, "email": .string(email)])
        let profile = try self.profile(settings(.google), ProviderPayloads(idToken: claims))
        #expect(profile.emailVerified)
        #expect(profile.emailAuthoritative == authoritative)
    }

    @Test(
        arguments: [
            ("example.org", true), ("EXAMPLE.org", true), ("notexample.org", false), ("a.example.org", false),
            (nil, false),
        ] as [(String?, Bool)]
    )
    func `only the hd claim shows that an account is of a hosted domain`(domain: String?, admitted: Bool) throws {
        var google = settings(.google)
        google.hostedDomains = ["example.com", "example.org"]
        let claims = Payloads.google.with(["hd": domain.map(JSON.string)])
        do throws(Failure) {
            _ = try self.profile(google, ProviderPayloads(idToken: claims))
            #expect(admitted)
        } catch {
            #expect(!admitted && error.reason == .providerHostedDomain && error.kind == .forbidden)
        }
    }

    @Test func `GitHub's subject is the number, and the email address is the primary verified one`() throws {
        let payloads = ProviderPayloads(api: ["/user": Payloads.gitHubUser, "/user/emails": Payloads.gitHubEmails])
        let profile = try self.profile(settings(.github), payloads)
        var expected = Profile(provider: "github", issuer: "https://github.com/login/oauth", subject: "73205511")
        expected.username = "ada-example"
        expected.name = "ada-example"
        expected.email = "ada@example.org"
        expected.emailVerified = true
        expected.picture = "https://avatars.githubusercontent.com/u/73205511?v=4"
        expected.groupsComplete = false
        #expect(profile == expected)
    }

    @Test func `a GitHub id beyond 53 bits stays exact`() throws {
        let user = Payloads.json(#"{"login": "a", "id": 9007199254740993123456}"#)
        let profile = try self.profile(settings(.github), ProviderPayloads(api: ["/user": user]))
        #expect(profile.subject == "9007199254740993123456")
    }

    @Test(
        arguments: [
            (#"[{"email":"a@example.org","primary":true,"verified":false}]"#, nil),
            (#"[{"email":"a@example.org","primary":true,"verified":"true"}]"#, nil),
            (
                #"[{"email":"a@example.org","primary":true},{"email":"b@example.org","verified":true}]"#,
                "b@example.org"
            ),
            (#"[]"#, nil), (#"{"email":"a@example.org"}"#, nil),
        ] as [(String, String?)]
    )
    func `an email address that GitHub has not verified is dropped`(emails: String, expected: String?) throws {
        let user = Payloads.gitHubUser.with(["email": "public@example.net"])
        let payloads = ProviderPayloads(api: ["/user": user, "/user/emails": Payloads.json(emails)])
        let profile = try self.profile(settings(.github), payloads)
        #expect(profile.email == expected)
        #expect(profile.emailVerified == (expected != nil))
    }

    @Test func `Microsoft's subject is tenant and object, with groups and roles from the token`() throws {
        let payloads = ProviderPayloads(idToken: Payloads.microsoft, userinfo: Payloads.microsoftUserinfo)
        let profile = try self.profile(settings(.microsoft), payloads)
        var expected = Profile(
            provider: "microsoft",
            issuer: "https://login.microsoftonline.com/8eae0000-2b34-4da1-9baa-8bc8c9d6a490/v2.0",
            subject: "8eae0000-2b34-4da1-9baa-8bc8c9d6a490:00000000-1111-2222-3333-444455556666"
        )
        expected.tenant = "8eae0000-2b34-4da1-9baa-8bc8c9d6a490"
        expected.username = "ada@contoso.example"
        expected.name = "Ada Example"
        expected.givenName = "Ada"
        expected.familyName = "Example"
        expected.email = "ada@contoso.example"
        expected.emailVerified = true
        expected.emailAuthoritative = true
        expected.groups = ["1b2c3d4e-0000-4000-8000-aabbccddeeff"]
        expected.roles = ["Gateway.Admin"]
        #expect(profile == expected)
    }

    @Test func `Microsoft's sub is not a subject, since a user could choose between it and the object id`() throws {
        let payloads = ProviderPayloads(idToken: Payloads.microsoft.with(["oid": nil]))
        #expect(throws: Failure.self) { try self.profile(settings(.microsoft), payloads) }
    }

    @Test(
        arguments: [
            (JSON.bool(true), true), (1, true), ("1", true), (false, false), (nil, false), ("0", false),
        ] as [(JSON?, Bool)]
    )
    func `an address that a tenant's administrator can make up is not verified`(flag: JSON?, verified: Bool) throws {
        let claims = Payloads.microsoft.with(["xms_edov": flag, "email_verified": true])
        let profile = try self.profile(settings(.microsoft), ProviderPayloads(idToken: claims))
        #expect(profile.email == "ada@contoso.example")
        #expect(profile.emailVerified == verified)
        #expect(profile.emailAuthoritative == verified)
    }

    @Test func `the address of a personal Microsoft account is verified`() throws {
        let claims = Payloads.microsoft.with([
            "xms_edov": nil, "tid": "9188040d-6c67-4c5b-b112-36a304b66dad",
        ])
        let profile = try self.profile(settings(.microsoft), ProviderPayloads(idToken: claims))
        #expect(profile.emailVerified)
        #expect(!profile.emailAuthoritative)
    }

    @Test(arguments: [
        ("ada@outlook.com", true), ("ada@contoso.example", false), ("ada@outlook.com.evil.example", false),
    ])
    func `X-05: of personal Microsoft accounts only addresses at Microsoft's domains are authoritative`(
        address: String,
        isAuthoritative: Bool
    ) throws {
        let claims = Payloads.microsoft.with([
            "xms_edov": nil, "tid": "9188040d-6c67-4c5b-b112-36a304b66dad", "email": .string(address),
        ])
        let profile = try self.profile(settings(.microsoft), ProviderPayloads(idToken: claims))
        #expect(profile.emailVerified && profile.emailAuthoritative == isAuthoritative)
    }

    @Test func `X-05: only Google and Microsoft report which email addresses they are the authority for`() throws {
        let knowing = try ProviderType.all.filter { try ProviderDefinition(settings($0)).knowsEmailAuthority }
        #expect(knowing.map(\.name) == ["google", "microsoft"])
        var own = settings(.google)
        own.profile = ["email_verified": ["const:true"]]
        #expect(try !ProviderDefinition(own).knowsEmailAuthority)
    }

    @Test func `a guest's made-up principal name is not shown`() throws {
        let claims = Payloads.microsoft.with([
            "preferred_username": "ada_example.org#EXT#@contoso.onmicrosoft.com"
        ])
        #expect(try self.profile(settings(.microsoft), ProviderPayloads(idToken: claims)).username == nil)
    }

    @Test func `groups that are too many for the token are not complete, and their source is not followed`() throws {
        let overflow = Payloads.json(
            #"{"groups": "src1"}"#
        )
        let claims = Payloads.microsoft.with(["groups": nil, "_claim_names": overflow])
        let profile = try self.profile(settings(.microsoft), ProviderPayloads(idToken: claims))
        #expect(profile.groups.isEmpty && !profile.groupsComplete)
        let flagged = Payloads.microsoft.with(["groups": nil, "hasgroups": true])
        #expect(try !self.profile(settings(.microsoft), ProviderPayloads(idToken: flagged)).groupsComplete)
    }

    @Test func `any OpenID provider gives the standard claims, the ID token's before userinfo's`() throws {
        let claims = Payloads.json(
            """
            {"iss": "https://id.example.com/realms/staff", "sub": "f:1:ada", "preferred_username": "ada",
             "groups": ["b", "a", "b"], "auth_time": 1789990000, "locale": "de_CH"}
            """
        )
        let userinfo = Payloads.json(
            """
            {"sub": "f:1:ada", "preferred_username": "other", "given_name": "Ada", "family_name": "Example",
             "email": "Ada@EXAMPLE.org", "email_verified": true, "picture": "http://example.org/a.png"}
            """
        )
        let profile = try self.profile(
            settings(.oidc, id: "staff"),
            ProviderPayloads(idToken: claims, userinfo: userinfo)
        )
        var expected = Profile(provider: "staff", issuer: "https://id.example.com/realms/staff", subject: "f:1:ada")
        expected.username = "ada"
        expected.name = "Ada Example"
        expected.givenName = "Ada"
        expected.familyName = "Example"
        expected.email = "Ada@example.org"
        expected.emailVerified = true
        expected.locale = "de-CH"
        expected.groups = ["a", "b"]
        expected.authTime = Instant(seconds: 1_789_990_000)
        #expect(profile == expected)
    }

    @Test func `T-18 the same email address at two providers is two users`() throws {
        let google = try self.profile(settings(.google), ProviderPayloads(idToken: Payloads.google))
        let claims: JSON = ["sub": "104729384756102938475", "email": "ada@example.org", "email_verified": true]
        let staff = try self.profile(settings(.oidc, id: "staff"), ProviderPayloads(idToken: claims))
        #expect(google.email == staff.email)
        #expect(google.user != staff.user)
    }
}
