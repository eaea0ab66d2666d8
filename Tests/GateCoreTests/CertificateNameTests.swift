// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@Suite struct CertificateNameTests {
    @Test(arguments: [
        ("CN=a,O=b", "cn = a , o=b", true), ("CN=a\\,b", "CN=a\\2cb", true), ("CN=a\\ ", "CN=a", false),
        ("CN=\\ a", "CN=a", false), ("CN=\\#a0", "CN=#a0", false), ("CN=#A0", "CN=#a0", true),
        ("CN=Zo\u{EB}", "CN=Zo\\C3\\AB", true),
        ("CN=Zo\u{EB}", "CN=Zoe\u{308}", false), ("CN=a,CN=b", "CN=b,CN=a", false), ("CN=a+O=b", "O=b+CN=a", true),
    ])
    func `two texts are the same name by their values`(one: String, other: String, isSame: Bool) throws {
        let (first, second) = (try #require(CertificateName(one)), try #require(CertificateName(other)))
        #expect((first == second) == isSame)
    }

    @Test(arguments: [
        "a", "=a", "CN=a,", ",CN=a", "CN=a,,O=b", "CN=\"a\"", "CN=a;O=b", "CN=a\\", "CN=a\\zz", "CN=a\u{1}", "CN=#",
        "CN=#a", "CN=#0g",
        "CN=a+CN=a", "C N=a", "CN=a<b", "CN=\\g0",
    ])
    func `what is not a name is rejected`(text: String) {
        #expect(CertificateName(text) == nil)
    }

    @Test func `a name is written so that it is read as the same`() throws {
        var random = SystemRandomNumberGenerator()
        let letters = Array("ab ,+\"\\<>;#=\u{EB}\u{1F511}-")
        for _ in 0..<2000 {
            let parts = (0..<Int.random(in: 1...4, using: &random)).map { index -> String in
                let value = (0..<Int.random(in: 0...6, using: &random)).compactMap { _ in
                    letters.randomElement(using: &random)
                }
                let bytes = String(value).utf8.map { byte in
                    "\\\(byte < 16 ? "0" : "")\(String(byte, radix: 16))"
                }
                return "T\(index)=\(bytes.joined())"
            }
            let name = try #require(CertificateName(parts.joined(separator: ",")))
            #expect(CertificateName(name.text) == name, "\(name.text)")
            #expect(name.text.utf8.allSatisfy { (0x20..<0x7F).contains($0) })
        }
    }

    @Test(arguments: [
        (String(repeating: "aB", count: 32), true), ("sha256:" + String(repeating: "0f", count: 32), true),
        (Array(repeating: "0F", count: 32).joined(separator: ":"), true), (String(repeating: "a", count: 63), false),
        (String(repeating: "g", count: 64), false), ("a:" + String(repeating: "a", count: 63), false), ("", false),
    ])
    func `a fingerprint is SHA-256 in hexadecimal digits`(text: String, isValid: Bool) {
        #expect((CertificateFacts.fingerprint(text) != nil) == isValid)
    }
}
