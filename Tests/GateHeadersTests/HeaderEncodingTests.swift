// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import Testing

@testable import GateHeaders

@Suite struct HeaderEncodingTests {
    private func text(_ bytes: [UInt8]?) -> String? { bytes.map { String(decoding: $0, as: UTF8.self) } }

    @Test(
        arguments: [
            (HeaderEncoding.percent, "Zo%C3%AB %25"), (.base64url, "Wm_DqyAl"), (.quotedPrintable, "Zo=C3=AB %"),
            (.rfc2047, "=?UTF-8?B?Wm/DqyAl?="), (.rfc8187, "UTF-8''Zo%C3%AB%20%25"),
        ])
    func `each encoding is the one of its standard`(encoding: HeaderEncoding, expected: String) {
        #expect(self.text(encoding.bytes(of: "Zoë %")) == expected)
    }

    @Test func `plain is Latin-1, in which names lose what it lacks`() {
        #expect(HeaderEncoding.plain.bytes(of: "Zoë 李", isName: true) == [0x5A, 0x6F, 0xEB])
        #expect(HeaderEncoding.plain.bytes(of: "李", isName: true) == nil)
    }

    @Test(arguments: ["staff:李", "staff:a\u{202E}b", "staff:a\n", " staff:a", "staff:a\u{85}"])
    func `plain never makes one user out of two`(user: String) {
        #expect(HeaderEncoding.plain.bytes(of: user) == nil)
    }

    @Test(arguments: HeaderEncoding.allCases)
    func `no value ends a line, begins or ends with a space, or is empty`(encoding: HeaderEncoding) {
        var random = SystemRandomNumberGenerator()
        let scalars: [Unicode.Scalar] = [
            "a", " ", ",", "|", "%", "=", "?", "\r", "\n", "\0", "\t", "ë", "李", "\u{85}", "\u{7F}",
        ]
        for _ in 0..<10_000 {
            var text = String.UnicodeScalarView()
            for _ in 0..<Int.random(in: 0...12, using: &random) {
                text.append(scalars[Int.random(in: 0..<scalars.count, using: &random)])
            }
            let list = String(text).split(separator: "a").map(String.init)
            let values = [
                encoding.bytes(of: String(text)), encoding.bytes(of: String(text), isName: true),
                encoding.bytes(of: list, separatedBy: "|"),
            ]
            for case let value? in values {
                let isWhole = value.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
                #expect(isWhole && value.first != 0x20 && value.last != 0x20 && !value.isEmpty, "\(Array(text))")
                #expect(encoding == .plain || value.allSatisfy { $0 < 0x80 })
            }
        }
    }

    @Test(arguments: HeaderEncoding.allCases, [",", "|", ";", " "])
    func `no group becomes two`(encoding: HeaderEncoding, separator: String) throws {
        let value = self.text(encoding.bytes(of: ["ops", "a\(separator)admin"], separatedBy: separator))
        let isDecodedLater = [.quotedPrintable, .rfc2047, .rfc8187, .plain].contains(encoding)
        let expected = isDecodedLater ? 1 : 2
        #expect(try #require(value).split(separator: separator).count == expected)
    }

    @Test(arguments: HeaderEncoding.allCases, ["admins,\u{301}x", "admins,\u{200D}x"])
    func `a separator before a combining character is one`(encoding: HeaderEncoding, group: String) throws {
        let value = self.text(encoding.bytes(of: ["ops", group], separatedBy: ","))
        let isDecodedLater = [.quotedPrintable, .rfc2047, .rfc8187, .plain].contains(encoding)
        #expect(try #require(value).utf8.count { $0 == 0x2C } == (isDecodedLater ? 0 : 1))
    }

    @Test func `encoded words have at most 75 characters and whole characters`() throws {
        let text = String(repeating: "Zoë🦊", count: 60)
        let words = try #require(self.text(HeaderEncoding.rfc2047.bytes(of: text))).split(separator: " ")
        #expect(
            words.count > 1 && words.allSatisfy { $0.count <= 75 && $0.hasPrefix("=?UTF-8?B?") && $0.hasSuffix("?=") }
        )
    }

    @Test func `ASCII that looks like an encoded word is encoded`() {
        #expect(self.text(HeaderEncoding.rfc2047.bytes(of: "=?UTF-8?B?cm9vdA==?="))?.contains("cm9vdA") == false)
    }
}
