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
        "api:/user?x=1#/id", "api:https://evil.example#/id", "const:", "const:a\nb", "id_token:/a\u{0}",
        " id_token:/sub", "id_token:/" + String(repeating: "a", count: 2000),
    ])
    func `what cannot be read in one way is no source`(text: String) {
        #expect(ClaimSource(text) == nil)
    }
}
