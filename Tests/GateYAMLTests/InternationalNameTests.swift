// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GateYAML

@Suite struct InternationalNameTests {
    /// By the library of Python for IDNA 2008, and RFC 3492 §7.1.
    @Test(arguments: [
        ("bücher.example", "xn--bcher-kva.example"), ("BÜCHER.example", "xn--bcher-kva.example"),
        ("bu\u{308}cher.example", "xn--bcher-kva.example"), ("münchen.example.com", "xn--mnchen-3ya.example.com"),
        ("straße.example", "xn--strae-oqa.example"), ("例え.テスト", "xn--r8jz45g.xn--zckzah"),
        ("почта.example", "xn--80a1acny.example"), ("3年b組金八先生", "xn--3b-ww4c5e180e575a65lsy2b"),
        ("пoчтa", "xn--oa-hmcny"), ("ليهمابتكلموشعربي؟", "xn--egbpdaj6bu4bxfgehfvwxn"),
    ])
    func `G-09 the form that browsers send`(name: String, ascii: String) {
        #expect(InternationalName.ascii(name) == ascii)
    }

    @Test(arguments: ["example.com", "", "a b", "ü ü.example", "ü/..", String(repeating: "ü", count: 63)])
    func `a name of ASCII, or one that is not a host, has none`(name: String) {
        #expect(InternationalName.ascii(name) == nil)
    }
}
