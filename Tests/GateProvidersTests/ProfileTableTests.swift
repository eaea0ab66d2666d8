// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateCore
import Testing

@testable import GateProviders

@Suite struct ProfileTableTests {
    @Test func `the document has the table that the definitions give`() throws {
        let tests = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
        let path = tests.appending(path: "../../docs/profile.md")
        let text = try String(contentsOf: path, encoding: .utf8)
        let marks = ["<!-- begin: printed by gatehouse profile --table -->\n", "<!-- end -->"]
        let start = try #require(text.firstRange(of: marks[0])?.upperBound)
        let end = try #require(text[start...].firstRange(of: marks[1])?.lowerBound)
        let expected = ProviderType.profileTables
        let found = String(text[start..<end])
        #expect(expected == found, "docs/profile.md is stale")
    }

    @Test func `the table shows what fills a field, and which fields stay empty`() throws {
        let section = try ProviderType.discord.profileTable()
        #expect(section.hasPrefix("### `discord`\n\n| field | sources, the first with a value wins |\n|---|---|\n"))
        #expect(section.contains("\n| `name` | `api:/users/@me#/global_name`, `api:/users/@me#/username` |\n"))
        #expect(section.contains("\n| `email_verified` | `api:/users/@me#/verified`; else false |\n"))
        #expect(
            section.hasSuffix(
                "Empty without an override: `tenant`, `given_name`, `family_name`, `groups`, `roles`, `auth_time`.\n"
            )
        )
    }

    @Test func `every type has a section with each field once`() throws {
        let markdown = ProviderType.profileTables
        for type in ProviderType.all {
            let section = try type.profileTable()
            #expect(markdown.contains(section))
            for field in ProfileField.allCases {
                let isRow = section.contains("\n| `\(field.rawValue)` | ")
                let empty = section.firstRange(of: "\nEmpty without an override: ").map { section[$0.upperBound...] }
                let isEmpty = empty?.contains("`\(field.rawValue)`") ?? false
                #expect(isRow != isEmpty, "\(type.name) \(field.rawValue)")
            }
        }
    }
}
