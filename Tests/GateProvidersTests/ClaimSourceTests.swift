// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GateProviders

@Suite struct ClaimSourceTests {
    @Test(arguments: [
        ("id_token:/sub", ClaimSource.Document.idToken, "/sub"),
        ("id_token:/realm_access/roles", .idToken, "/realm_access/roles"),
        ("userinfo:/name", .userinfo, "/name"),
        ("api:/user/emails#/0/email", .api(path: "/user/emails"), "/0/email"),
        ("const:true", .constant, "true"),
        ("id_token:/https:~1~1slack.com~1team_id", .idToken, "/https:~1~1slack.com~1team_id"),
        ("api:/users/@me#/id", .api(path: "/users/@me"), "/id"),
        ("callback:/user/name/firstName", .callback, "/user/name/firstName"),
    ])
    func `a source is a document and a pointer`(text: String, document: ClaimSource.Document, pointer: String) throws {
        let source = try #require(ClaimSource(text))
        #expect(source.document == document)
        #expect(source.pointer == pointer)
        #expect(source.description == text)
    }

    @Test(arguments: [
        "", "id_token", "id_token:", "id_token:sub", "id_token:/", "id_token:/a~2b", "id_token:/a~", "idtoken:/sub",
        "userinfo:name", "api:/user", "api:user#/id", "api:/#/id", "api:/../secret#/id", "api:/a//b#/id",
        "api:/user?x=1#/id", "api:/a/./b#/id", "api:/a%2Fb#/id", "api:/a:b#/id", "api:@evil.example/#/id",
        "api://evil.example#/id", "api:/\(String(repeating: "a", count: 256))#/id", "api:https://evil.example#/id",
        "const:", "const:a\nb", "id_token:/a\u{0}",
        " id_token:/sub", "id_token:/" + String(repeating: "a", count: 2000),
    ])
    func `an ambiguous text is not a source`(text: String) {
        #expect(ClaimSource(text) == nil)
    }

    @Test(arguments: [
        ("api:/user/emails#[primary&&verified]/email", "", "[primary&&verified]", "/email"),
        ("userinfo:/memberships[type=work]/id", "/memberships", "[type=work]", "/id"),
        ("id_token:/groups[*]", "/groups", "[*]", ""),
        ("id_token:/a[b=]/c", "/a", "[b=]", "/c"),
        ("id_token:/a[b=c=d]", "/a", "[b=c=d]", ""),
        ("id_token:/a[b&&c&&d&&e&&f&&g&&h&&i]/x", "/a", "[b&&c&&d&&e&&f&&g&&h&&i]", "/x"),
    ])
    func `one array may be searched`(text: String, pointer: String, filter: String, tail: String) throws {
        let source = try #require(ClaimSource(text))
        #expect(source.pointer == pointer && source.tail == tail)
        #expect(source.filter?.description == filter && source.description == text)
    }

    @Test(arguments: [
        "id_token:/a[]/b", "id_token:/a[&&b]/c", "id_token:/a[b&&]/c", "id_token:/a[b]/c[d]/e", "id_token:/a[b",
        "id_token:/a[[b]]/c", "id_token:/a[=b]/c", "id_token:/a[b]c", "id_token:a[b]/c",
        "id_token:/a[b&&c&&d&&e&&f&&g&&h&&i&&j]/x", "id_token:/a[b\u{7}]/c", "id_token:/a[b]/~", "const:",
    ])
    func `an ambiguous filter is rejected`(text: String) {
        #expect(ClaimSource(text) == nil)
    }
}
