// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateCore
import Testing

@Suite struct Base64URLTests {
    @Test(arguments: [
        ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
        ("foobar", "Zm9vYmFy"),
    ])
    func `the vectors of RFC 4648 hold without padding`(plain: String, encoded: String) {
        #expect(Base64URL.encode(plain.utf8) == encoded)
        #expect(Base64URL.decode(encoded) == Array(plain.utf8))
    }

    @Test func `every length agrees with another implementation`() {
        for count in 0..<70 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ 251) }
            let other = Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
            #expect(Base64URL.encode(bytes) == other.replacing("=", with: ""))
            #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
        }
    }

    @Test(arguments: ["A", "AAAAA", "Zg==", "Zg=", "Zh", "Zm9", "Zm+v", "Zm/v", "Zm9v ", "Zm9v\n", "Zm\u{E9}v", "Z.9v"])
    func `only the one canonical spelling is read`(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }
}

@Suite struct PercentEncodingTests {
    @Test func `everything but the unreserved is encoded`() {
        #expect(PercentEncoding.encode("aZ09-._~") == "aZ09-._~")
        #expect(PercentEncoding.encode("a b/?&=+%\u{E9}") == "a%20b%2F%3F%26%3D%2B%25%C3%A9")
    }

    @Test(arguments: [("%41%4a%4A", "AJJ"), ("%2541", "%41"), ("a+b", "a+b"), ("", "")])
    func `escapes are decoded once`(text: String, plain: String) {
        #expect(PercentEncoding.decode(Array(text.utf8)) == Array(plain.utf8))
    }

    @Test(arguments: ["%", "%4", "%4g", "%g4", "a%", "%%41", "%-1"])
    func `a broken escape is refused`(text: String) {
        #expect(PercentEncoding.decode(Array(text.utf8)) == nil)
    }
}

@Suite struct FormTests {
    @Test func `pairs keep their order and repeats`() {
        let form = Form(encoded: "a=1&b=x+y%26&a=2&c&=e&d=x=y")
        #expect(
            form?.fields == [
                Form.Field("a", "1"), Form.Field("b", "x y&"), Form.Field("a", "2"), Form.Field("c", ""),
                Form.Field("", "e"), Form.Field("d", "x=y"),
            ]
        )
    }

    @Test func `a repeated parameter has no value`() {
        let form = Form(encoded: "code=1&code=1&state=s")
        #expect(form?.single("code") == .repeated)
        #expect(form?["code"] == nil)
        #expect(form?.single("state") == .value("s"))
        #expect(form?.single("error") == .absent)
    }

    @Test(arguments: ["a=%zz", "a=%ff", "%=1", String(repeating: "a&", count: 65)])
    func `a broken or long form is refused`(text: String) {
        #expect(Form(encoded: text) == nil)
    }

    @Test func `what is encoded reads back`() {
        var form = Form([Form.Field("a b", "&=+%\u{1F600}")])
        form.append("c", "")
        #expect(form.encoded == "a%20b=%26%3D%2B%25%F0%9F%98%80&c=")
        #expect(Form(encoded: form.encoded) == form)
    }
}
