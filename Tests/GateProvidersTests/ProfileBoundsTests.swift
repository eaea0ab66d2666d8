// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProviders
import Testing

@Suite struct ProfileBoundsTests {
    private static let claims: JSON = ["sub": "1", "email": "ada@example.org", "email_verified": true]

    private func profile(
        _ changes: [String: JSON?],
        userinfo: JSON? = nil,
        overrides: [String: [String]] = [:]
    ) throws(Failure) -> Profile {
        var staff = settings(.oidc, id: "staff")
        staff.profile = overrides
        let payloads = ProviderPayloads(idToken: Self.claims.with(changes), userinfo: userinfo)
        return try ProviderDefinition(staff).profile(from: payloads).profile
    }

    @Test(
        arguments: [
            nil, .null, "", "a\r\nb", "a\u{0}", "a\u{200B}", .string(String(repeating: "x", count: 256)), true, ["1"],
            .number("1.5"),
            .number("1e3"),
        ] as [JSON?]
    )
    func `without one usable id there is no profile`(subject: JSON?) {
        let failure = #expect(throws: Failure.self) { try self.profile(["sub": subject]) }
        #expect(failure?.reason == .providerSubject && failure?.detail.contains("id_token:/sub") == true)
    }

    @Test(
        arguments: [
            ("1789999000", true), ("1790000300", true), ("1790000301", false), ("1790000000000", false),
            ("9223372036854775807", false), ("0", true), ("1.79e9", false), ("-1", false),
        ]
    )
    func `B-05: an authentication after its token, such as one in milliseconds, is not recent for ever`(
        time: String,
        isKept: Bool
    ) throws {
        for value in [JSON.number(time), .string(time)] {
            let profile = try self.profile(["auth_time": value, "iat": 1_790_000_000])
            #expect((profile.authTime != nil) == isKept)
        }
        let other = try self.profile(
            ["auth_time": .number(time), "iat": 1_790_000_000],
            userinfo: ["sub": "1", "when": 1_789_990_000],
            overrides: ["auth_time": ["id_token:/auth_time", "userinfo:/when"]]
        )
        #expect(isKept ? other.authTime != nil : other.authTime == Instant(seconds: 1_789_990_000))
    }

    @Test func `an id of 255 bytes is kept`() throws {
        let subject = String(repeating: "x", count: 255)
        #expect(try self.profile(["sub": .string(subject)]).subject == subject)
    }

    @Test(arguments: ["a\r\nX-Forwarded-User: root", "a\u{0}b", "\u{85}", "a\u{2028}b", "\u{202E}nimda", "\u{7F}"])
    func `T-45 a text with control characters is left out`(text: String) throws {
        let profile = try self.profile([
            "name": .string(text), "preferred_username": .string(text), "given_name": .string(text),
            "picture": .string("https://example.org/\(text)"), "locale": .string(text),
            "groups": .array(["staff", .string(text)]), "email": .string("\(text)@example.org"),
        ])
        #expect(profile.name == nil && profile.username == nil && profile.givenName == nil)
        #expect(profile.picture == nil && profile.locale == nil && profile.email == nil)
        #expect(profile.groups == ["staff"])
        #expect(!profile.groupsComplete)
    }

    @Test(arguments: [
        ("Ada\u{200E} Lovelace", "Ada Lovelace"), ("\u{202A}Ada\u{202C}", "Ada"), ("Ada\tLovelace", "Ada Lovelace"),
        ("\u{200F}\u{5D0}\u{5D1}\u{061C}", "\u{5D0}\u{5D1}"), ("\u{2066}Ada\u{2069}", "Ada"),
    ])
    func `G-09 a mark that cannot be seen is left out of a name, and not the name`(text: String, shown: String) throws {
        let profile = try self.profile([
            "name": .string(text), "given_name": .string(text), "family_name": .string(text),
            "preferred_username": .string(text),
        ])
        #expect([profile.name, profile.givenName, profile.familyName].allSatisfy { $0 == shown })
        // What apps may take for a user's name stays distinct.
        #expect(profile.username == nil)
    }

    @Test(arguments: ["\u{200E}", "\t", "Ada\u{202E}", "Ada\nEve"])
    func `G-09 a name of marks only, or with an override or a line break, is dropped`(text: String) throws {
        let name = try self.profile(["name": .string(text), "preferred_username": nil]).name
        #expect(name == nil || name == " ")
    }

    @Test(arguments: ["attacker@evil.com@company.com", "ada", "@example.org", "a b@example.org", "ada@localhost"])
    func `A-12 what is not exactly one email address is dropped, and nothing takes its place`(email: String) throws {
        let userinfo: JSON = ["sub": "1", "email": "other@example.org", "email_verified": true]
        let profile = try self.profile(["email": .string(email)], userinfo: userinfo)
        #expect(profile.email == nil && !profile.emailVerified)
    }

    @Test func `a flag in one document does not verify the address of another`() throws {
        let userinfo: JSON = ["sub": "1", "email": "other@example.org", "email_verified": true]
        let profile = try self.profile(["email_verified": nil], userinfo: userinfo)
        #expect(profile.email == "ada@example.org")
        #expect(!profile.emailVerified)
    }

    @Test func `groups are at most 5000 and 256 KiB, and then not complete`() throws {
        let many = JSON.array((0..<5001).map { .string("g\($0)") })
        let long = JSON.array((0..<300).map { .string("\($0)" + String(repeating: "x", count: 1000)) })
        let first = try self.profile(["groups": many])
        let second = try self.profile(["groups": long])
        #expect(first.groups.count == 5000 && !first.groupsComplete)
        #expect(second.groups.joined().utf8.count <= 262_144 && !second.groupsComplete && !second.groups.isEmpty)
        #expect(first.groups == first.groups.sorted())
    }

    @Test func `a single text is one group, whatever is in it`() throws {
        #expect(try self.profile(["groups": "guests, admins"]).groups == ["guests, admins"])
        #expect(try self.profile(["groups": 7]).groups == ["7"])
        let objects = try self.profile(["groups": [["name": "admins"], "staff"]])
        #expect(objects.groups == ["staff"] && !objects.groupsComplete)
    }

    @Test(arguments: ["javascript:alert(1)", "http://example.org/a.png", "//example.org/a.png", "data:image/png,x"])
    func `a picture is an https address`(picture: String) throws {
        #expect(try self.profile(["picture": .string(picture)]).picture == nil)
    }

    @Test func `the operator's chain replaces the built-in one`() throws {
        let profile = try self.profile(
            ["display_name": "Ada", "realm_access": ["roles": ["admin"]], "name": "No", "groups": ["no"]],
            overrides: [
                "name": ["id_token:/missing", "id_token:/display_name"], "groups": ["id_token:/realm_access/roles"],
                "tenant": ["const:acme"],
            ]
        )
        #expect(profile.name == "Ada" && profile.groups == ["admin"] && profile.tenant == "acme")
    }

    @Test func `another claim as the address is not verified by the flag of the first`() throws {
        let changes: [String: JSON?] = ["upn": "boss@example.org"]
        let chosen = try self.profile(changes, overrides: ["email": ["id_token:/upn"]])
        #expect(chosen.email == "boss@example.org" && !chosen.emailVerified)
        let trusted = try self.profile(
            changes,
            overrides: ["email": ["id_token:/upn"], "email_verified": ["const:true"]]
        )
        #expect(trusted.emailVerified && !trusted.emailAuthoritative)
    }

    @Test(arguments: [
        ["nmae": ["id_token:/name"]], ["name": ["idtoken:/name"]], ["name": ["api:/user#/name"]],
        ["subject": ["const:x"]], ["subject": ["id_token:/sub", "const:x"]], ["subject": []],
        ["email": ["callback:/user/email"]], ["subject": ["callback:/user/id"]], ["groups": ["callback:/groups"]],
        ["provider": ["const:google"]], ["issuer": ["id_token:/iss"]], ["email_authoritative": ["const:true"]],
        ["groups_complete": ["const:true"]],
    ])
    func `an override that cannot work is refused`(overrides: [String: [String]]) {
        #expect(throws: Failure.self) { try self.profile([:], overrides: overrides) }
    }
}
