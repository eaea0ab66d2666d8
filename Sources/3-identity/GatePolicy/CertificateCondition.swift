// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// What an entry asks of the certificate of the client; of each kind it must have one of the values.
///
/// A condition without any values asks for a verified certificate, whichever it is.
package struct CertificateCondition: Sendable, Hashable {
    /// A name that a certificate has to have.
    package struct NamePattern: Sendable, Hashable {
        package let name: CertificateName
        /// Whether a name below it is asked for instead: one with more parts before it.
        package let isBase: Bool

        /// Asks for a name, or for one below it.
        package init(name: CertificateName, isBase: Bool) {
            (self.name, self.isBase) = (name, isBase)
        }

        fileprivate var text: String { self.isBase ? "*,\(self.name.text)" : self.name.text }

        func covers(_ name: CertificateName) -> Bool {
            self.isBase ? name.isBelow(self.name) : name == self.name
        }

        fileprivate func includes(_ other: NamePattern) -> Bool {
            self == other || (self.isBase && other.name.isBelow(self.name))
        }
    }

    /// An alternative name that a certificate has to have.
    package struct AlternativeName: Sendable, Hashable {
        /// The name in the form of ``CertificateFacts/names``, or what is before or after the part that any name may have.
        let text: String
        private let kind: Kind

        private enum Kind: Sendable, Hashable {
            case exact
            /// `dns:*.example.com`: one more label before it.
            case label
            /// `uri:spiffe://example.com/*`: anything behind it.
            case prefix
        }

        /// Reads a name with its kind; nil if it is not one.
        package init?(_ text: String) {
            guard let name = CertificateFacts.name(text) else { return nil }
            if name.hasPrefix("dns:*.") {
                (self.kind, self.text) = (.label, String(name.dropFirst("dns:*".count)))
            } else if name.hasPrefix("uri:"), name.hasSuffix("/*") {
                (self.kind, self.text) = (.prefix, String(name.dropLast()))
            } else {
                (self.kind, self.text) = (.exact, name)
            }
            guard !self.text.contains("*") else { return nil }
        }

        func covers(_ name: String) -> Bool {
            switch self.kind {
            case .exact: return isIdentical(self.text, name)
            case .prefix: return name.utf8.count > self.text.utf8.count && name.utf8.starts(with: self.text.utf8)
            case .label:
                guard name.hasPrefix("dns:"), name.utf8.reversed().starts(with: self.text.utf8.reversed()) else {
                    return false
                }
                let label = name.utf8.dropFirst("dns:".count).dropLast(self.text.utf8.count)
                return !label.isEmpty && !label.contains(UInt8(ascii: "."))
            }
        }

        /// A name that it covers.
        fileprivate var example: String {
            switch self.kind {
            case .exact: self.text
            case .label: "dns:x\(self.text)"
            case .prefix: "\(self.text)x"
            }
        }
    }

    package var issuers: [NamePattern] = []
    package var subjects: [NamePattern] = []
    /// The alternative names, of which the certificate must have one.
    package var names: [AlternativeName] = []
    /// The fingerprints, in the form of ``CertificateFacts/fingerprint``.
    package var fingerprints: [String] = []

    /// Asks for a verified certificate.
    package init() {}

    /// Whether a verified certificate has what is asked for.
    package func matches(_ certificate: CertificateFacts) -> Bool {
        (self.issuers.isEmpty || self.issuers.contains { $0.covers(certificate.issuer) })
            && (self.subjects.isEmpty || self.subjects.contains { $0.covers(certificate.subject) })
            && (self.names.isEmpty || certificate.names.contains { name in self.names.contains { $0.covers(name) } })
            && (self.fingerprints.isEmpty
                || self.fingerprints.contains { isIdentical($0, certificate.fingerprint) })
    }

    /// Whether every certificate that another condition asks for meets this one; false if that is not known.
    package func includes(_ other: CertificateCondition) -> Bool {
        func covers<Value>(_ own: [Value], _ others: [Value], _ includes: (Value, Value) -> Bool) -> Bool {
            own.isEmpty || (!others.isEmpty && others.allSatisfy { other in own.contains { includes($0, other) } })
        }
        return covers(self.issuers, other.issuers) { $0.includes($1) }
            && covers(self.subjects, other.subjects) { $0.includes($1) } && covers(self.names, other.names, ==)
            && covers(self.fingerprints, other.fingerprints, ==)
    }

    /// A certificate that meets the condition, for comparisons; nil if no name can have its names.
    var example: CertificateFacts? {
        func name(_ pattern: NamePattern?) -> CertificateName? {
            guard let pattern else { return CertificateName("CN=another") }
            return pattern.isBase ? CertificateName(parts: "CN=x", above: pattern.name) : pattern.name
        }
        guard let subject = name(self.subjects.first), let issuer = name(self.issuers.first) else { return nil }
        return CertificateFacts(
            subject: subject,
            issuer: issuer,
            names: self.names.first.map { [$0.example] } ?? [],
            fingerprint: self.fingerprints.first ?? CertificateCondition.otherFingerprint
        )
    }

    /// What is asked for, in words: `issuer CN=Devices, fingerprint 0a1b…`.
    package var text: String {
        let names =
            self.subjects.map { "subject \($0.text)" } + self.issuers.map { "issuer \($0.text)" }
            + self.names.map(\.text)
            + self.fingerprints.map { "fingerprint \($0.prefix(16))…" }
        return names.isEmpty ? "any issuer" : names.joined(separator: ", ")
    }

    static let otherFingerprint = String(repeating: "0", count: 64)
}
