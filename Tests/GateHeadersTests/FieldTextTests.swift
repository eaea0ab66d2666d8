// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GateHeaders

@Suite struct FieldTextTests {
    @Test(arguments: [
        ("ada", "ada"), ("Ada Lovelace", "Ada Lovelace"), ("100%", "100%25"), ("%41", "%2541"), ("a,b", "a,b"),
        ("Zo\u{EB}", "Zo%C3%AB"), ("\u{1F600}", "%F0%9F%98%80"),
        ("a\r\nX-Forwarded-User: root", "a%0D%0AX-Forwarded-User: root"),
        ("a\u{0}b\tc\u{7F}", "a%00b%09c%7F"), (" a ", "%20a%20"), ("", ""), (" ", "%20"), ("\u{85}", "%C2%85"),
    ])
    func `text becomes visible ASCII that can be read back`(text: String, encoded: String) {
        #expect(text.fieldText() == encoded)
    }

    @Test func `a comma is escaped where a list is joined with commas`() {
        #expect("a,b %".fieldText(alsoEscaping: ",") == "a%2Cb %25")
    }
}
