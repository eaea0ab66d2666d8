// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// How a proxy writes the certificate of its client into a header.
package enum CertificateForm: String, Sendable, CaseIterable {
    /// Envoy: `Hash=…;Cert="…"`, one element.
    case envoy
    /// nginx: PEM with escapes of URLs, `$ssl_client_escaped_cert`.
    case nginx
    /// HAProxy: DER in base64, `%[ssl_c_der,base64]`.
    case haproxy
    /// Traefik: DER in base64, the chain after commas, `passTLSClientCert.pem`.
    case traefik
    /// Apache: PEM with spaces for the ends of lines, `%{SSL_CLIENT_CERT}s`.
    case apache
    /// AWS: PEM with escapes of URLs, the chain included, `X-Amzn-Mtls-Clientcert`.
    case aws
    /// RFC 9440: DER in base64 between colons, the chain in `Client-Cert-Chain`.
    case rfc9440

    /// The header that the documents of the product have.
    package var header: String {
        switch self {
        case .envoy: "X-Forwarded-Client-Cert"
        case .nginx: "X-SSL-Client-Cert"
        case .haproxy: "X-SSL-Client-DER"
        case .traefik: "X-Forwarded-Tls-Client-Cert"
        case .apache: "X-SSL-Client-Cert"
        case .aws: "X-Amzn-Mtls-Clientcert"
        case .rfc9440: "Client-Cert"
        }
    }

    /// The header with the certificates between that of the client and the trusted one; nil if the form has none.
    package var chainHeader: String? { self == .rfc9440 ? "Client-Cert-Chain" : nil }

    /// Why a value is not of the form.
    package struct Malformed: Error, Hashable {
        /// What is wrong, and what to do.
        package let words: String

        init(_ words: String) {
            self.words = words
        }
    }

    /// How many bytes a value may have.
    package static let maxLength = 96 * 1024

    /// The certificates in a value, in DER, that of the client first; empty if the client has no certificate.
    package func certificates(in value: [UInt8]) throws(Malformed) -> [[UInt8]] {
        guard value.count <= CertificateForm.maxLength else { throw Malformed("it is longer than 96 KiB") }
        guard !value.isEmpty else { return [] }
        switch self {
        case .envoy: return try CertificateForm.envoyCertificates(in: value)
        case .nginx, .aws: return try CertificateForm.pem(CertificateForm.unescaped(value))
        case .haproxy: return [try CertificateForm.base64(value)]
        case .traefik:
            var certificates: [[UInt8]] = []
            for part in try CertificateForm.unescaped(value).split(separator: 0x2C, omittingEmptySubsequences: false) {
                certificates.append(try CertificateForm.base64(Array(part)))
                try CertificateForm.checkCount(certificates)
            }
            return certificates
        case .apache: return value.elementsEqual("(null)".utf8) ? [] : try CertificateForm.pem(value)
        case .rfc9440: return [try CertificateForm.sequence(value)]
        }
    }

    /// The certificates in the value of ``chainHeader``.
    package static func chain(in value: [UInt8]) throws(Malformed) -> [[UInt8]] {
        guard value.count <= CertificateForm.maxLength else { throw Malformed("it is longer than 96 KiB") }
        var certificates: [[UInt8]] = []
        for part in value.split(separator: 0x2C, omittingEmptySubsequences: false) {
            certificates.append(try self.sequence(Array(part.drop { $0 == 0x20 || $0 == 0x09 })))
            try self.checkCount(certificates)
        }
        return certificates
    }

    private static func checkCount(_ certificates: [[UInt8]]) throws(Malformed) {
        guard certificates.count <= CertificateAuthority.maxPresented else {
            throw Malformed("it has more than \(CertificateAuthority.maxPresented) certificates")
        }
    }

    /// An item of a structured field with bytes, without parameters.
    private static func sequence(_ value: [UInt8]) throws(Malformed) -> [UInt8] {
        guard value.count > 2, value.first == 0x3A, value.last == 0x3A else {
            throw Malformed("it is not base64 between two colons")
        }
        return try self.base64(Array(value.dropFirst().dropLast()))
    }

    private static func base64(_ text: [UInt8]) throws(Malformed) -> [UInt8] {
        guard !text.isEmpty, let data = Data(base64Encoded: Data(text)) else { throw Malformed("it is not base64") }
        return Array(data)
    }

    /// Bytes without the escapes of URLs; `+` is itself.
    private static func unescaped(_ value: [UInt8]) throws(Malformed) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(value.count)
        var index = 0
        while index < value.count {
            guard value[index] == UInt8(ascii: "%") else {
                bytes.append(value[index])
                index += 1
                continue
            }
            guard index + 2 < value.count, let high = self.digit(value[index + 1]),
                let low = self.digit(value[index + 2])
            else { throw Malformed("an escape is not two hexadecimal digits") }
            bytes.append(high << 4 | low)
            index += 3
        }
        return bytes
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46, 0x61...0x66: (byte & 0xDF) - 0x37
        default: nil
        }
    }

    private static let begin = Array("-----BEGIN CERTIFICATE-----".utf8)
    private static let end = Array("-----END CERTIFICATE-----".utf8)

    /// The certificates of PEM with nothing but white space between them.
    private static func pem(_ text: [UInt8]) throws(Malformed) -> [[UInt8]] {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
        var rest = text[...]
        var certificates: [[UInt8]] = []
        while true {
            rest = rest.drop(while: isSpace)
            guard !rest.isEmpty else { break }
            guard rest.starts(with: self.begin) else { throw Malformed("it is not PEM of certificates alone") }
            rest = rest.dropFirst(self.begin.count)
            let body = rest.prefix { $0 != UInt8(ascii: "-") }
            rest = rest.dropFirst(body.count)
            guard rest.starts(with: self.end) else { throw Malformed("a certificate in PEM has no end") }
            rest = rest.dropFirst(self.end.count)
            certificates.append(try self.base64(body.filter { !isSpace($0) }))
            try self.checkCount(certificates)
        }
        guard !certificates.isEmpty else { throw Malformed("it has no certificate") }
        return certificates
    }

    // MARK: Envoy

    /// The certificates of the only element: those of `Chain`, else the one of `Cert`.
    private static func envoyCertificates(in value: [UInt8]) throws(Malformed) -> [[UInt8]] {
        let pairs = try self.pairs(of: value)
        func certificates(_ key: String) throws(Malformed) -> [[UInt8]]? {
            let values = pairs.filter { $0.key == key }.map(\.value)
            guard values.count <= 1 else { throw Malformed("it has '\(key)' more than once") }
            guard let value = values.first, !value.isEmpty else { return nil }
            return try self.pem(self.unescaped(value))
        }
        let (own, chain) = (try certificates("cert"), try certificates("chain"))
        if let own, let chain, own.first != chain.first { throw Malformed("'Cert' is not the first of 'Chain'") }
        guard let found = chain ?? own else {
            throw Malformed(
                "it has neither 'Cert' nor 'Chain'; write 'set_current_client_cert_details: { cert: true, chain: true }'"
            )
        }
        return found
    }

    /// The pairs of the only element, keys in lower case.
    private static func pairs(of value: [UInt8]) throws(Malformed) -> [(key: String, value: [UInt8])] {
        var pairs: [(key: String, value: [UInt8])] = []
        var index = 0
        while index < value.count {
            guard pairs.count < 512 else { throw Malformed("it has more than 512 pairs") }
            let key = value[index...].prefix { $0 != UInt8(ascii: "=") && $0 != 0x2C && $0 != 0x3B }
            index += key.count
            guard !key.isEmpty, index < value.count, value[index] == UInt8(ascii: "=") else {
                throw Malformed("it is not made of pairs such as 'Cert=…'; let Envoy replace it: SANITIZE_SET")
            }
            index += 1
            var content: [UInt8] = []
            if index < value.count, value[index] == 0x22 {
                index += 1
                while index < value.count, value[index] != 0x22 {
                    if value[index] == UInt8(ascii: "\\"), index + 1 < value.count { index += 1 }
                    content.append(value[index])
                    index += 1
                }
                guard index < value.count else { throw Malformed("a quotation mark has no second one") }
                index += 1
            } else {
                while index < value.count, value[index] != 0x2C, value[index] != 0x3B {
                    guard value[index] != 0x22 else { throw Malformed("a quotation mark is within a value") }
                    content.append(value[index])
                    index += 1
                }
            }
            pairs.append((String(decoding: key, as: UTF8.self).lowercased(), content))
            guard index < value.count else { break }
            guard value[index] == 0x3B else {
                throw Malformed(
                    "it has more than one element, of which others wrote the first; let Envoy replace it: SANITIZE_SET"
                )
            }
            index += 1
        }
        return pairs
    }
}
