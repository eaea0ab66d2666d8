// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import GateCore
internal import NIOSSL
internal import SwiftASN1
internal import X509

/// Why the TLS handshake with a target failed, in words that name the key to change.
///
/// The texts of the library name its source files, and never the setting.
struct HandshakeReason {
    /// The certificate that the target sent; nil if it sent none.
    let leaf: NIOSSLCertificate?
    /// The name that the certificate has to have; nil for an IP address.
    let name: String?
    let now: Instant

    /// The reason for an error of the handshake.
    func text(of error: any Error) -> String {
        if let error = error as? NIOSSLExtraError, error == .failedToValidateHostname { return self.wrongName }
        let words = HandshakeReason.words(of: error)
        if words.contains("CERTIFICATE_VERIFY_FAILED") { return self.rejectedCertificate }
        for (mark, text) in HandshakeReason.known where words.contains(mark) { return text }
        return "the TLS handshake failed\(words.isEmpty ? "" : ": \(HandshakeReason.plain(words))")"
    }

    /// What the library names some errors, and what they mean for the file.
    private static let known: [(String, String)] = [
        (
            "WRONG_VERSION_NUMBER",
            "it does not speak TLS at this port; write http:// in 'upstream', or the port for TLS"
        ),
        ("HTTP_REQUEST", "it does not speak TLS at this port; write http:// in 'upstream', or the port for TLS"),
        ("PROTOCOL_VERSION", "it speaks neither TLS 1.2 nor TLS 1.3; configure one of them at the app"),
        ("UNSUPPORTED_PROTOCOL", "it speaks neither TLS 1.2 nor TLS 1.3; configure one of them at the app"),
        ("UNRECOGNIZED_NAME", "it does not serve this name; write the one it serves as 'upstream.tls.server_name'"),
        ("NO_APPLICATION_PROTOCOL", "it speaks no HTTP/2 over TLS; write https:// in 'upstream'"),
        (
            "CERTIFICATE_REQUIRED",
            "it asks for a client certificate; write 'upstream.tls.certificate' and 'private_key'"
        ),
        (
            "BAD_CERTIFICATE",
            "it rejects the client certificate; compare 'upstream.tls.certificate' with what it trusts"
        ),
        (
            "ALERT_UNKNOWN_CA",
            "it rejects the client certificate; compare 'upstream.tls.certificate' with what it trusts"
        ),
        (
            "ALERT_CERTIFICATE",
            "it rejects the client certificate; compare 'upstream.tls.certificate' with what it trusts"
        ),
        (
            "TLSV1_ALERT_UNKNOWN",
            "it rejects the client certificate; compare 'upstream.tls.certificate' with what it trusts"
        ),
        ("HANDSHAKE_FAILURE", "it accepts none of our cipher suites, or asks for a client certificate; see its log"),
    ]

    /// The certificate was rejected; nothing but the certificate itself shows why.
    private var rejectedCertificate: String {
        let help = "name the file of its authority as 'upstream.tls.ca_file'"
        guard let certificate = self.certificate else { return "its certificate is not trusted; \(help)" }
        if certificate.notValidAfter < self.date {
            return "its certificate expired at \(HandshakeReason.time(certificate.notValidAfter)); renew it"
        }
        if certificate.notValidBefore > self.date {
            let start = HandshakeReason.time(certificate.notValidBefore)
            return "its certificate is not valid before \(start); compare the clocks"
        }
        if let usages = try? certificate.extensions.extendedKeyUsage, !usages.contains(.serverAuth),
            !usages.contains(.any)
        {
            return "its certificate is not for servers; issue one with the extended key usage serverAuth"
        }
        let issuer = PrintableText.escaped("\(certificate.issuer)", limit: 120)
        if certificate.issuer == certificate.subject {
            return "its certificate is signed by itself and not trusted; name its file as 'upstream.tls.ca_file'"
        }
        return
            "its certificate is of the authority '\(issuer)', which is not trusted; \(help), or let it send its intermediate certificates"
    }

    private var wrongName: String {
        let own = self.alternativeNames
        let shown = own.isEmpty ? "names no host" : "is for \(own.joined(separator: ", "))"
        let wanted = self.name.map { ", not for '\($0)'" } ?? ""
        return
            "its certificate \(shown)\(wanted); write one of its names as 'upstream.tls.server_name', or issue another"
    }

    private var alternativeNames: [String] {
        guard let names = try? self.certificate?.extensions.subjectAlternativeNames else { return [] }
        let texts = names.compactMap { (name: GeneralName) -> String? in
            if case .dnsName(let text) = name { PrintableText.escaped(text, limit: 80) } else { nil }
        }
        return texts.prefix(5).map { "'\($0)'" }
    }

    private var certificate: Certificate? {
        guard let der = try? self.leaf?.toDERBytes() else { return nil }
        return try? Certificate(derEncoded: der)
    }

    private var date: Date { Date(timeIntervalSince1970: Double(self.now.seconds)) }

    private static func time(_ date: Date) -> String {
        date.formatted(.iso8601)
    }

    /// The words of the library, without numbers and source files: `CERTIFICATE_VERIFY_FAILED`.
    private static func words(of error: any Error) -> String {
        let text = "\(error)"
        guard let start = text.firstRange(of: "OPENSSL_internal:") else { return "" }
        return String(text[start.upperBound...].prefix { $0 == "_" || ($0.isASCII && ($0.isUppercase || $0.isNumber)) })
    }

    private static func plain(_ words: String) -> String {
        words.lowercased().map { $0 == "_" ? " " : String($0) }.joined()
    }
}
