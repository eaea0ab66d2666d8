// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import GateCore
internal import NIOCore

/// The field lines with which an app gets the certificate of the client.
struct CertificateLines: Sendable {
    private let certificate: ClientCertificate

    init(of certificate: ClientCertificate) {
        self.certificate = certificate
    }

    func lines(_ headers: [CertificateHeader]) -> ByteBuffer {
        var lines = ByteBuffer()
        for header in headers {
            guard let value = self.value(of: header) else { continue }
            lines.writeString("\(header.rawValue): \(value)\r\n")
        }
        return lines
    }

    /// The value of a header; nil if the certificate has nothing for it.
    func value(of header: CertificateHeader) -> String? {
        switch header {
        case .envoy: return self.envoyElement
        case .certificate: return CertificateLines.sequence(self.certificate.bytes)
        case .chain:
            let chain = self.certificate.intermediates
            return chain.isEmpty ? nil : chain.map(CertificateLines.sequence).joined(separator: ", ")
        }
    }

    /// Bytes as an item of a structured field.
    ///
    /// RFC 9651 §4.1.8.
    private static func sequence(_ bytes: [UInt8]) -> String { ":\(Data(bytes).base64EncodedString()):" }

    /// `Hash=…;Cert="…";Subject="…";URI=…;DNS=…`, as Envoy writes it.
    private var envoyElement: String {
        let facts = self.certificate.facts
        // Of these characters each has a meaning in the header: those of base64 and of the frame of PEM are escaped.
        let pem = CertificateLines.pem(self.certificate.bytes).utf8.map { byte -> String in
            let isPlain =
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF) || "-._~".utf8.contains(byte)
            return isPlain
                ? "\(Character(Unicode.Scalar(byte)))"
                : "%\(byte < 16 ? "0" : "")\(String(byte, radix: 16).uppercased())"
        }
        // A backslash of the name stays as it is, and so does its escaped quotation mark.
        var pairs = [
            "Hash=\(facts.fingerprint)", "Cert=\"\(pem.joined())\"", "Subject=\"\(self.certificate.subject)\"",
        ]
        for (kind, name) in [("uri:", "URI"), ("dns:", "DNS")] {
            pairs += facts.names.filter { $0.hasPrefix(kind) }.map { text in
                "\(name)=\(CertificateLines.quoted(String(text.dropFirst(kind.count))))"
            }
        }
        return pairs.joined(separator: ";")
    }

    private static func quoted(_ value: String) -> String {
        guard value.utf8.contains(where: { ",;=\"\\".utf8.contains($0) }) else { return value }
        return "\"\(value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
    }

    private static func pem(_ bytes: [UInt8]) -> String {
        let text = Data(bytes).base64EncodedString()
        let lines = stride(from: 0, to: text.utf8.count, by: 64).map { start in
            String(decoding: text.utf8.dropFirst(start).prefix(64), as: UTF8.self)
        }
        return "-----BEGIN CERTIFICATE-----\n\(lines.joined(separator: "\n"))\n-----END CERTIFICATE-----\n"
    }
}
