// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GatePolicy
internal import GateYAML

/// `certificate` of an entry as the file has it.
struct CertificateConditionDraft: Sendable {
    var any: Located<Bool>?
    var issuer: [CertificateCondition.NamePattern]?
    var subject: [CertificateCondition.NamePattern]?
    var san: [CertificateCondition.AlternativeName]?
    var fingerprint: [String]?

    /// What is asked for.
    var condition: CertificateCondition {
        var condition = CertificateCondition()
        condition.issuers = self.issuer ?? []
        condition.subjects = self.subject ?? []
        condition.names = self.san ?? []
        condition.fingerprints = self.fingerprint ?? []
        return condition
    }
}

extension Mapping<CertificateConditionDraft> {
    /// `certificate` of an entry.
    static let certificateCondition = Mapping(
        "a certificate",
        path: "apps.<name>.allow[].certificate and apps.<name>.deny[].certificate",
        summary: "What the verified certificate of the client must have; of each key one of the values.",
        make: { CertificateConditionDraft() },
        keys: [
            Key(
                "any",
                located: \.any,
                .flag,
                .init(),
                "`true` for every certificate that is verified; alone."
            ),
            Key(
                "issuer",
                \.issuer,
                .oneOrMany(of: .certificateName, named: "a distinguished name or a list of them"),
                .init(example: "CN=Devices,O=Example"),
                "The name of the authority that has issued it, as `openssl x509 -noout -issuer -nameopt RFC2253` prints it. "
                    + "`*,O=Example` is every name below `O=Example`."
            ),
            Key(
                "subject",
                \.subject,
                .oneOrMany(of: .certificateName, named: "a distinguished name or a list of them"),
                .init(example: "*,OU=Managed,O=Example"),
                "The name of its owner, in the same form."
            ),
            Key(
                "san",
                \.san,
                .oneOrMany(of: .alternativeName, named: "an alternative name or a list of them"),
                .init(example: "dns:*.devices.example.com"),
                "An alternative name with its kind: `dns:`, `email:`, `uri:` or `ip:`. `dns:*.example.com` is one more label, "
                    + "`uri:spiffe://example.com/*` everything below."
            ),
            Key(
                "fingerprint",
                \.fingerprint,
                .oneOrMany(of: .fingerprint, named: "a fingerprint or a list of them"),
                .init(example: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
                "SHA-256 over the certificate in hexadecimal digits, also with colons, as "
                    + "`openssl x509 -noout -fingerprint -sha256` prints it."
            ),
        ],
        check: { draft, written, reading in
            if let any = draft.any, !any.value || written.keys.count > 1 {
                let message = "'any' is 'true' and alone; remove it, and keep what the certificate must have"
                return reading.error(message, at: any.mark)
            }
            guard written.isEmpty else { return }
            let help = "write '{ any: true }' for every certificate that is verified"
            reading.error("'certificate' has no condition; \(help)", at: written.mark)
        }
    )
}

extension Shape<CertificateCondition.NamePattern> {
    /// A distinguished name, or `*,` and one that is at its end.
    fileprivate static let certificateName = single(
        "a distinguished name",
        pattern: #"^(\*,)?.+=.+$"#
    ) { text throws(InvalidValue) in
        let isBase = text.hasPrefix("*,")
        guard let name = CertificateName(isBase ? String(text.dropFirst(2)) : text), !name.isEmpty else {
            let form = "write such as 'CN=Devices,O=Example', or '*,O=Example' for all names below"
            throw InvalidValue(
                "is not a distinguished name; \(form), with a backslash before ',', '+' and '\"' in a value"
            )
        }
        if let type = name.unknownType {
            let known = CertificateName.types.sorted().joined(separator: ", ")
            throw InvalidValue("has '\(type)', which certificates are not printed with; write one of \(known)")
        }
        return CertificateCondition.NamePattern(name: name, isBase: isBase)
    }
}

extension Shape<CertificateCondition.AlternativeName> {
    /// A name with its kind.
    fileprivate static let alternativeName = single(
        "an alternative name",
        pattern: "^(dns|email|uri|ip):[^ ]+$"
    ) { text throws(InvalidValue) in
        guard let name = CertificateCondition.AlternativeName(text) else {
            throw InvalidValue(
                "is not an alternative name; write its kind before it, such as dns:laptop.example.com, dns:*.example.com, "
                    + "email:ann@example.com, uri:spiffe://example.com/laptop or ip:192.0.2.7"
            )
        }
        return name
    }
}

extension Shape<String> {
    /// SHA-256 of a certificate.
    fileprivate static let fingerprint = single(
        "a fingerprint",
        pattern: "^(sha256:)?[0-9A-Fa-f:]{64,95}$"
    ) { text throws(InvalidValue) in
        guard let fingerprint = CertificateFacts.fingerprint(text) else {
            throw InvalidValue(
                "is not SHA-256 over a certificate: 64 hexadecimal digits, also with colons between the bytes"
            )
        }
        return fingerprint
    }
}
