// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProviders
import Testing

/// M-02: what a provider reports about a user beyond the fields of the profile.
@Suite struct ClaimsTests {
    private static let token: JSON = ["sub": "1", "name": "Ada", "email": "ada@example.org", "email_verified": true]

    private func mapped(
        _ claims: [String: [String]],
        _ changes: [String: JSON?] = [:],
        userinfo: JSON? = nil,
        isUserinfoUnavailable: Bool = false
    ) throws(Failure) -> MappedProfile {
        var staff = settings(.oidc, id: "staff")
        staff.claims = claims
        var payloads = ProviderPayloads(idToken: Self.token.with(changes), userinfo: userinfo)
        payloads.isUserinfoUnavailable = isUserinfoUnavailable
        return try ProviderDefinition(staff).profile(from: payloads)
    }

    private func value(_ json: JSON?) throws(Failure) -> ClaimValue? {
        try self.mapped(["x": ["id_token:/x"]], ["x": json]).profile.claims["x"]
    }

    @Test(
        arguments: [
            ("Engineering", .text("Engineering")), (" a ", .text(" a ")), ("Zoë", .text("Zoë")), (true, .flag(true)),
            (false, .flag(false)), (.number("9007199254740993"), .number("9007199254740993")),
            (.number("-1.50"), .number("-1.50")), (.array([]), .list([])), (["b", "a", "b"], .list(["b", "a", "b"])),
            (["a", 7], .list(["a", "7"])),
        ] as [(JSON, ClaimValue)]
    )
    func `a claim has the type and the bytes that the provider sent`(sent: JSON, expected: ClaimValue) throws {
        let value = try #require(try self.value(sent))
        #expect(value == expected)
        #expect(ClaimValue(value.json) == expected)
    }

    @Test(
        arguments: [
            nil, .null, "", "a\r\nX-Forwarded-User: root", "\u{202E}nimda", ["a": "b"], ["a", ["b"]], ["a", ""],
            ["a", true],
            .string(String(repeating: "x", count: ClaimValue.maxTextBytes + 1)),
            .number(String(repeating: "9", count: 65)),
            .array([JSON](repeating: "x", count: ClaimValue.maxListCount + 1)),
            .array([JSON](repeating: .string(String(repeating: "x", count: 1024)), count: 33)),
        ] as [JSON?]
    )
    func `what cannot be used as a whole is left out`(sent: JSON?) throws {
        #expect(try self.value(sent) == nil)
    }

    @Test func `the largest values are kept`() throws {
        let text = String(repeating: "x", count: ClaimValue.maxTextBytes)
        #expect(try self.value(.string(text)) == .text(text))
        #expect(try self.value(.number(String(repeating: "9", count: 64))) != nil)
        #expect(try self.value(.array([JSON](repeating: "x", count: ClaimValue.maxListCount))) != nil)
        #expect(try self.value(.array([JSON](repeating: .string(text), count: 31))) != nil)
    }

    @Test func `the first source with a value wins, and the source is known`() throws {
        let claims = ["cc": ["id_token:/cc", "userinfo:/cc", "const:none"]]
        let userinfo: JSON = ["sub": "1", "cc": "4711"]
        let first = try self.mapped(claims, ["cc": "12"], userinfo: userinfo)
        #expect(first.profile.claims == ["cc": .text("12")] && first.claimSources == ["cc": "id_token:/cc"])
        let second = try self.mapped(claims, ["cc": ""], userinfo: userinfo)
        #expect(second.profile.claims == ["cc": .text("4711")] && second.claimSources == ["cc": "userinfo:/cc"])
        let last = try self.mapped(claims, userinfo: ["sub": "1"])
        #expect(last.profile.claims == ["cc": .text("none")])
        #expect(last.rows.last?.field == "claims.cc" && last.rows.last?.value == "none")
    }

    @Test func `a source behind userinfo that did not respond is not asked, since userinfo could have another value`()
        throws
    {
        let claims = ["a": ["id_token:/a", "userinfo:/a", "const:none"], "b": ["id_token:/b", "userinfo:/b"]]
        let mapped = try self.mapped(claims, ["b": "known"], isUserinfoUnavailable: true)
        #expect(mapped.profile.claims == ["b": .text("known")])
    }

    @Test(
        arguments: [
            ["a": "b"], ["a", "\u{202E}b"], ["a", ["b"]], "a\nb", .string(String(repeating: "x", count: 1025)),
        ] as [JSON]
    )
    func `what a user can make unusable is unknown, and no other source replaces it`(sent: JSON) throws {
        let claims = ["x": ["id_token:/x", "const:none"], "y": ["id_token:/y", "const:none"]]
        #expect(try self.mapped(claims, ["x": sent]).profile.claims == ["y": .text("none")])
    }

    @Test(
        arguments: [
            .array([JSON](repeating: ["name": "x"], count: 1001)), [["name": "x"], ["other": "y"]],
            [["name": "x"], ["name": "\u{202E}y"]], [["name": "x"], ["name": ["y"]]],
        ] as [JSON]
    )
    func `a search that may have missed an element is unknown`(sent: JSON) throws {
        let claims = ["x": ["id_token:/x[*]/name", "const:none"]]
        #expect(try self.mapped(claims, ["x": sent]).profile.claims.isEmpty)
    }

    @Test func `all claims of a user have a limit together`() throws {
        let list = JSON.array([JSON](repeating: .string(String(repeating: "x", count: 1000)), count: 16))
        let claims = ["a": ["id_token:/x"], "b": ["id_token:/x"], "c": ["id_token:/x"], "d": ["const:small"]]
        #expect(try self.mapped(claims, ["x": list]).profile.claims.keys.sorted() == ["a", "b", "d"])
    }

    @Test func `a call that was rejected, or that lists one page, leaves a claim unknown`() throws {
        var hub = settings(.github)
        hub.claims = [
            "plan": ["api:/user/plan#/name", "const:none"], "teams": ["api:/user/plan#/teams", "const:none"],
        ]
        let definition = try ProviderDefinition(hub)
        func claims(_ response: JSON?) throws -> [String: ClaimValue] {
            var payloads = ProviderPayloads(idToken: nil, userinfo: nil)
            payloads.api["/user"] = ["id": 1, "login": "ada"]
            payloads.api["/user/plan"] = response
            return try definition.profile(from: payloads).profile.claims
        }
        #expect(try claims(nil).isEmpty)
        #expect(try claims(["name": "pro", "teams": ["a"]]) == ["plan": .text("pro")])
        #expect(try claims(["teams": []]) == ["plan": .text("none"), "teams": .list([])])
        #expect(try claims([:]) == ["plan": .text("none"), "teams": .text("none")])
    }

    @Test func `userinfo over an ID token changes neither claims of the token nor how the user authenticated`() throws {
        var staff = settings(.oidc, id: "staff")
        staff.claims = ["department": ["id_token:/department"]]
        let kept = Self.token.with(["department": "sales", "acr": "1", "amr": ["pwd"]])
        var payloads = ProviderPayloads(
            idToken: kept.with(["department": "board", "acr": "9", "amr": ["hwk"], "name": "Ada L."]),
            userinfo: ["sub": "1"]
        )
        payloads.signed = kept
        let profile = try ProviderDefinition(staff).profile(from: payloads).profile
        #expect(profile.claims == ["department": .text("sales")] && profile.acr == "1" && profile.amr == ["pwd"])
        #expect(profile.name == "Ada L.")
    }

    @Test func `an array that is searched gives all elements that are found`() throws {
        let claims = ["teams": ["id_token:/teams[active]/name"], "none": ["id_token:/teams[missing]/name"]]
        let teams: JSON = [
            ["name": "a", "active": true], ["name": "b", "active": false], ["name": "c", "active": true],
        ]
        #expect(try self.mapped(claims, ["teams": teams]).profile.claims == ["teams": .list(["a", "c"])])
    }

    @Test func `userinfo and the API are called for a claim that the token does not have`() throws {
        var staff = settings(.oidc, id: "staff")
        staff.profile = ["name": ["id_token:/name"], "email": ["id_token:/email"]]
        staff.claims = ["cc": ["id_token:/cc", "userinfo:/cc"]]
        let definition = try ProviderDefinition(staff)
        let known = ProviderPayloads(idToken: Self.token.with(["cc": "1"]), userinfo: nil)
        let unknown = ProviderPayloads(idToken: Self.token, userinfo: nil)
        #expect(definition.readsUserinfo(after: unknown, groups: false))
        #expect(
            definition.readsUserinfo(after: known, groups: false)
                == (try ProviderDefinition(settings(.oidc, id: "staff")).readsUserinfo(after: known, groups: false))
        )
        var hub = settings(.github)
        hub.claims = ["plan": ["api:/user/plan#/name"]]
        let calls = try ProviderDefinition(hub).wantedCalls(
            for: ProviderPayloads(idToken: nil, userinfo: nil),
            made: []
        )
        #expect(calls.map(\.path).contains("/user/plan"))
    }

    @Test(arguments: ["callback:/x", "token:/x", "id_token:x"])
    func `a source that is not signed or not known is an error`(source: String) {
        #expect(throws: Failure.self) { try self.mapped(["x": [source]]) }
    }

    @Test func `a change of claims makes users sign in again, since their sessions lack them`() {
        var staff = settings(.oidc, id: "staff")
        let before = staff.admissionTerms.map(\.value)
        staff.claims = ["x": ["id_token:/x"]]
        let with = staff.admissionTerms.map(\.value)
        staff.claims = ["x": ["id_token:/y"]]
        #expect(with != before && staff.admissionTerms.map(\.value) != with)
    }

    @Test func `M-01: the class and the methods of the authentication are those of the ID token`() throws {
        let mapped = try self.mapped([:], ["acr": "urn:mace:incommon:iap:silver", "amr": ["pwd", "otp"]])
        #expect(mapped.profile.acr == "urn:mace:incommon:iap:silver" && mapped.profile.amr == ["pwd", "otp"])
        let loose = try self.mapped([:], ["acr": 1, "amr": "mfa"])
        #expect(loose.profile.acr == "1" && loose.profile.amr == ["mfa"])
        let hostile = try self.mapped([:], ["acr": "a\nb", "amr": .array([JSON](repeating: "pwd", count: 40))])
        #expect(hostile.profile.acr == nil && hostile.profile.amr.count == 16)
        #expect(try self.mapped([:], ["amr": ["a\nb", ["c"], "d"]]).profile.amr == ["d"])
    }
}
