// SPDX-License-Identifier: Apache-2.0

/// What rules look at in a verified certificate of a client.
package struct CertificateFacts: Sendable, Hashable {
    package let subject: CertificateName
    package let issuer: CertificateName
    /// The alternative names, each with its kind: `dns:`, `email:`, `uri:` or `ip:`.
    package let names: [String]
    /// SHA-256 over the certificate, in hexadecimal digits.
    package let fingerprint: String

    /// Facts about a certificate.
    package init(subject: CertificateName, issuer: CertificateName, names: [String], fingerprint: String) {
        self.subject = subject
        self.issuer = issuer
        self.names = names
        self.fingerprint = fingerprint
    }

    /// A fingerprint in the form that is compared: 64 hexadecimal digits in lower case; nil for anything else.
    ///
    /// Colons between the bytes and `sha256:` before them are left out.
    package static func fingerprint(_ text: String) -> String? {
        let lower = text.lowercased()
        let digits = lower.hasPrefix("sha256:") ? String(lower.dropFirst("sha256:".count)) : lower
        let bare: String
        if digits.contains(":") {
            let bytes = digits.split(separator: ":", omittingEmptySubsequences: false)
            guard bytes.allSatisfy({ $0.utf8.count == 2 }) else { return nil }
            bare = bytes.joined()
        } else {
            bare = digits
        }
        let isHexadecimal = bare.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
        return bare.utf8.count == 64 && isHexadecimal ? bare : nil
    }

    /// An alternative name in the form that is compared; nil for one without a kind.
    ///
    /// DNS names are in lower case, IP addresses in the form of ``IPAddress/text``.
    package static func name(_ text: String) -> String? {
        guard let colon = text.firstIndex(of: ":") else { return nil }
        let (kind, value) = (text[..<colon], String(text[text.index(after: colon)...]))
        guard !value.isEmpty, value.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else { return nil }
        switch kind {
        case "dns": return "dns:\(value.lowercased())"
        case "email", "uri": return "\(kind):\(value)"
        case "ip": return IPAddress(value).map { "ip:\($0.text)" }
        default: return nil
        }
    }
}
