// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GateProviders

/// Every cell of the table of fields, from the payloads that each provider documents.
@Suite struct CatalogTests {
    @Test(arguments: ProfileSheet.all.flatMap(\.cells))
    func `a field has the value and the source that its provider's documents give`(cell: ProfileSheet.Cell) throws {
        let rows = try ProfileSheet.rows(cell.sheet.provider, cell.sheet.payloads)
        let row = try #require(rows[cell.field])
        #expect(row.value == cell.value)
        #expect(row.source == cell.source)
    }

    @Test func `every type has a sheet and every sheet has every field`() {
        #expect(ProfileSheet.all.map(\.provider.type).map(\.name).sorted() == ProviderType.all.map(\.name).sorted())
        for sheet in ProfileSheet.all {
            #expect(sheet.cells.map(\.field) == ProfileField.allCases.map(\.rawValue), "\(sheet.provider.type.name)")
        }
    }

    /// The cells whose source is one claim that is not the id.
    private static let claims = ProfileSheet.all.flatMap(\.cells).filter { cell in
        guard let text = cell.source, !text.contains(" "), let source = ClaimSource(text) else { return false }
        let isPartOfTheID = cell.field == "tenant" && [.slack, .microsoft].contains(cell.sheet.provider.type)
        return !["subject", "issuer"].contains(cell.field) && !isPartOfTheID && source.document != .constant
            && source.filter == nil
    }

    @Test(arguments: claims)
    func `a claim that is null is a claim that is not there`(cell: ProfileSheet.Cell) throws {
        let source = try #require(cell.source)
        let absent = cell.sheet.payloads.replacing(source, with: nil)
        let null = cell.sheet.payloads.replacing(source, with: .null)
        let definition = try ProviderDefinition(cell.sheet.provider)
        let expected = try definition.profile(from: absent)
        #expect(try definition.profile(from: null) == expected)
        #expect(try definition.profile(from: cell.sheet.payloads) != expected)
        let row = try #require(try ProfileSheet.rows(cell.sheet.provider, absent)[cell.field])
        #expect(row.source != source)
    }

    @Test(
        arguments: claims.filter { !["groups", "roles", "groups_complete"].contains($0.field) },
        [JSON.object(["a": "b"]), .array(["a"]), "", .number("-1.5"), .string("\u{202E}\r\n")]
    )
    func `a claim of the wrong kind fills nothing`(cell: ProfileSheet.Cell, wrong: JSON) throws {
        let source = try #require(cell.source)
        let row = try #require(
            try ProfileSheet.rows(cell.sheet.provider, cell.sheet.payloads.replacing(source, with: wrong))[cell.field]
        )
        #expect(row.source != source)
    }

    /// Changes of a type's payloads, and what a field is then.
    private static let fallbacks: [(ProfileSheet, [String: JSON?], String, String?, String?)] = [
        (.google, ["id_token:/name": nil], "name", "Ada Example", "id_token:/given_name + id_token:/family_name"),
        (
            .google, ["id_token:/name": nil, "id_token:/given_name": nil], "name", "Example",
            "id_token:/given_name + id_token:/family_name"
        ),
        (
            .google, ["id_token:/name": nil, "id_token:/given_name": nil, "id_token:/family_name": nil], "name",
            "ada@example.org", "id_token:/email"
        ),
        (
            .google, ["id_token:/email_verified": nil, "id_token:/verified_email": true], "email_verified", "true",
            "id_token:/verified_email"
        ),
        (.google, ["id_token:/locale": "de"], "locale", "de", "id_token:/locale"),
        (.gitHub, ["api:/user#/name": "Ada"], "name", "Ada", "api:/user#/name"),
        (.microsoft, ["userinfo:/given_name": "Ada"], "given_name", "Ada", "userinfo:/given_name"),
        (.microsoft, ["id_token:/xms_pl": "de-CH"], "locale", "de-CH", "id_token:/xms_pl"),
        (
            .microsoft, ["id_token:/email": nil, "userinfo:/email": "a@b.example"], "email", "a@b.example",
            "userinfo:/email"
        ),
        (.apple, ["callback:/user": nil], "name", "x7q9k2@privaterelay.appleid.com", "id_token:/email"),
        (
            .apple, ["callback:/user/name/lastName": nil], "name", "Ada",
            "callback:/user/name/firstName + callback:/user/name/lastName"
        ),
        (.apple, ["id_token:/email_verified": true], "email_verified", "true", "id_token:/email_verified"),
        (.apple, ["id_token:/email_verified": "false"], "email_verified", "false", "id_token:/email_verified"),
        (.gitLab, ["userinfo:/preferred_username": nil], "username", "ada", "userinfo:/nickname"),
        (
            .gitLab, ["userinfo:/groups": nil], "groups", #"["top/sub"]"#, "id_token:/groups_direct, not all of them"
        ),
        (
            .gitLab, ["userinfo:/groups": nil], "groups_complete", "false", "id_token:/groups_direct, not all of them"
        ),
        (.okta, ["userinfo:/name": nil], "name", "Ada Example", "userinfo:/given_name + userinfo:/family_name"),
        (.okta, ["id_token:/groups": ["A"]], "groups", #"["A"]"#, "id_token:/groups"),
        (.auth0, ["id_token:/nickname": nil], "username", nil, nil),
        (
            .keycloak, ["id_token:/realm_access": nil, "userinfo:/realm_access/roles": ["viewer"]], "roles",
            #"["viewer"]"#, "userinfo:/realm_access/roles"
        ),
        (.facebook, ["api:/me#/email": nil], "email", nil, nil),
        (.facebook, ["api:/me#/picture/data/url": "http://a.example/x"], "picture", nil, nil),
        (.linkedIn, ["id_token:/locale": nil], "locale", "en-US", "userinfo:/locale"),
        (.linkedIn, ["id_token:/email_verified": nil], "email_verified", "false", nil),
        (.discord, ["api:/users/@me#/global_name": .null], "name", "ada", "api:/users/@me#/username"),
        (.discord, ["api:/users/@me#/avatar": .null], "picture", nil, nil),
        (.discord, ["api:/users/@me#/verified": false], "email_verified", "false", "api:/users/@me#/verified"),
        (.discord, ["api:/users/@me#/email": .null], "email", nil, nil),
        (.slack, ["id_token:/name": nil], "name", "Ada Example", "id_token:/given_name + id_token:/family_name"),
        (.openID, ["id_token:/email": "x@y.example"], "email_verified", "false", nil),
    ]

    @Test(arguments: fallbacks.indices)
    func `what is missing is taken from the next source`(index: Int) throws {
        let (sheet, changes, field, value, source) = Self.fallbacks[index]
        let payloads = changes.reduce(sheet.payloads) { $0.replacing($1.key, with: $1.value) }
        let row = try #require(try ProfileSheet.rows(sheet.provider, payloads)[field])
        #expect(row.value == value)
        #expect(row.source == source)
    }

    @Test(arguments: ProfileSheet.all)
    func `without the claims of the id no user is signed in`(sheet: ProfileSheet) throws {
        let definition = try ProviderDefinition(sheet.provider)
        for source in definition.mapping.steps(.subject).flatMap(\.sources) {
            for wrong in [nil, .null, "", .object([:]), .bool(true), .number("1.0")] as [JSON?] {
                let payloads = sheet.payloads.replacing(source.description, with: wrong)
                #expect(throws: Failure.self) { try definition.profile(from: payloads) }
            }
        }
    }
}

extension ProfileSheet: CustomTestStringConvertible {
    var testDescription: String { self.provider.type.name }
}
