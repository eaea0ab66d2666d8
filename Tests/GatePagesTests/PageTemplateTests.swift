// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GatePages

@Suite struct PageTemplateTests {
    @Test(arguments: ["<", ">", "\"", "'", "&"], ["", "\u{0600}", "\u{0301}", "\u{200D}"])
    func `a character with a meaning in HTML is escaped, whatever joins it`(mark: String, joiner: String) {
        for text in [joiner + mark, mark + joiner] {
            let page = PageTemplate("{{value}}").render(["value": text])
            #expect(!page.unicodeScalars.contains { "<>\"'".unicodeScalars.contains($0) })
            #expect(page.utf8.contains(UInt8(ascii: "&")) && page.utf8.contains(UInt8(ascii: ";")))
        }
    }
}
