// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateWire
import NIOCore
import Testing

@testable import GateHTTP

/// How proxies write certificates into headers.
@Suite struct CertificateFormTests {
    private static let der: [UInt8] = [0x30, 0x03, 0xFB, 0xFF, 0x3E]
    private static let base64 = Data(der).base64EncodedString()
    private static let pem = "-----BEGIN CERTIFICATE-----\n\(base64)\n-----END CERTIFICATE-----\n"

    private static func escaped(_ text: String) -> String {
        text.utf8.map { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF)
                ? String(decoding: [byte], as: UTF8.self) : "%\(byte < 16 ? "0" : "")\(String(byte, radix: 16))"
        }.joined()
    }

    private static let values: [(CertificateForm, String)] = [
        (.envoy, "Hash=aa;Cert=\"\(escaped(pem))\";Subject=\"CN=a\\\",b;c\";URI="), (.envoy, "cert=\(escaped(pem))"),
        (.envoy, "By=x;Chain=\"\(escaped(pem))\""), (.nginx, escaped(pem)), (.haproxy, base64), (.traefik, base64),
        (.traefik, escaped(base64)), (.apache, pem.replacing("\n", with: " ")),
        (.aws, pem.replacing("\n", with: "%0A").replacing(" ", with: "%20")), (.rfc9440, ":\(base64):"),
    ]

    @Test(arguments: values.indices)
    func `a certificate is read in the form of each product`(index: Int) throws {
        let (form, value) = Self.values[index]
        #expect(try form.certificates(in: Array(value.utf8)) == [Self.der])
    }

    @Test(arguments: CertificateForm.allCases)
    func `a proxy writes nothing for a client without a certificate`(form: CertificateForm) throws {
        #expect(try form.certificates(in: []) == [])
    }

    @Test func `Apache writes null for a client without a certificate`() throws {
        #expect(try CertificateForm.apache.certificates(in: Array("(null)".utf8)) == [])
    }

    @Test(
        arguments: [
            (.envoy, "Hash=aa"), (.envoy, "Cert=\"x"), (.envoy, "Cert"), (.envoy, "=x"), (.envoy, ";Cert=x"),
            (.envoy, "Hash=a;Cert=\(escaped(pem)),Hash=b;Cert=\(escaped(pem))"),
            (.envoy, "Cert=\(escaped(pem));cert=\(escaped(pem))"), (.envoy, "Cert=\"\(escaped(pem))\"x"),
            (.envoy, "Hash=a\"b;Cert=\(escaped(pem))"), (.nginx, "%zz"), (.nginx, "%2"), (.nginx, "x\(escaped(pem))"),
            (.nginx, "\(escaped(pem))x"), (.nginx, base64), (.nginx, "%20"), (.haproxy, "\(base64),\(base64)"),
            (.haproxy, " "),
            (.haproxy, pem), (.traefik, "\(base64),"), (.traefik, "(null)"),
            (.apache, "-----BEGIN CERTIFICATE----- \(base64)"),
            (.apache, "-----BEGIN PRIVATE KEY----- \(base64) -----END PRIVATE KEY-----"), (.rfc9440, base64),
            (.rfc9440, "::"),
            (.rfc9440, ":\(base64):;a=1"), (.rfc9440, ":\(base64):, :\(base64):"), (.aws, "(null)"),
        ] as [(CertificateForm, String)]
    )
    func `what is not of the form is rejected`(form: CertificateForm, value: String) {
        #expect(throws: CertificateForm.Malformed.self) { try form.certificates(in: Array(value.utf8)) }
    }

    @Test func `at most eight certificates are read`() throws {
        let eight = Array(repeating: Self.base64, count: 8).joined(separator: ",")
        #expect(try CertificateForm.traefik.certificates(in: Array(eight.utf8)).count == 8)
        #expect(throws: CertificateForm.Malformed.self) {
            try CertificateForm.traefik.certificates(in: Array("\(eight),\(Self.base64)".utf8))
        }
    }

    /// Quoted values of Envoy may have every character; none of them ends the value or begins another pair.
    @Test func `a quoted value of Envoy cannot bring a certificate of its own`() throws {
        var random = SystemRandomNumberGenerator()
        let pieces = ["\\", "\"", ",", ";", "=", "Cert=", "Chain=\"", "x", Self.escaped("other")]
        for _ in 0..<5000 {
            let text = (0..<Int.random(in: 0...8, using: &random)).compactMap { _ in
                pieces.randomElement(using: &random)
            }.joined()
            let quoted = text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
            let value = "Subject=\"\(quoted)\";Cert=\"\(Self.escaped(Self.pem))\""
            #expect(try CertificateForm.envoy.certificates(in: Array(value.utf8)) == [Self.der], "\(value)")
        }
    }

    @Test func `no bytes stop the reading`() {
        var random = SystemRandomNumberGenerator()
        let alphabet = Array("=;,\"\\%:+/ -ABEGINCRTFDabz09\u{0}\u{7F}".utf8)
        for _ in 0..<5000 {
            let bytes = (0..<Int.random(in: 1...64, using: &random)).compactMap { _ in
                alphabet.randomElement(using: &random)
            }
            for form in CertificateForm.allCases { _ = try? form.certificates(in: bytes) }
            _ = try? CertificateForm.chain(in: bytes)
        }
    }
}
