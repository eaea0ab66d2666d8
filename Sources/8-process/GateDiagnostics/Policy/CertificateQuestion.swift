// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GateYAML

/// The certificate of the client in a question about the rules; what is missing is a name that no rule has.
package struct CertificateQuestion: Sendable {
    var subject: String?
    var issuer: String?
    var names: [String]?
    var fingerprint: String?

    /// A certificate of an authority that no rule names.
    package init() {}

    /// Reads `subject=CN=laptop-7`, `issuer=…`, `san=dns:…` or `fingerprint=…`; the name alone is a certificate without it.
    ///
    /// - Throws: `policy.question` for any other text.
    package mutating func add(_ text: String) throws(Failure) {
        let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
        let value = parts.count == 2 ? parts[1] : ""
        switch parts.first {
        case "any" where parts.count == 1: return
        case "subject" where CertificateName(value) != nil: self.subject = value
        case "issuer" where CertificateName(value) != nil: self.issuer = value
        case "san" where CertificateFacts.name(value) != nil: self.names = (self.names ?? []) + [value]
        case "fingerprint" where CertificateFacts.fingerprint(value) != nil: self.fingerprint = value
        default:
            let form = "write 'any', 'subject=NAME', 'issuer=NAME', 'san=dns:HOST' or 'fingerprint=SHA256'"
            throw Failure(.policyQuestion, "'\(PrintableText.escaped(text))' is not about a certificate; \(form)")
        }
    }

    /// The certificate; nil if a part of it cannot be read.
    package var facts: CertificateFacts? {
        guard let subject = CertificateName(self.subject ?? "CN=another"),
            let issuer = CertificateName(self.issuer ?? "CN=another"),
            let fingerprint = CertificateFacts.fingerprint(self.fingerprint ?? String(repeating: "0", count: 64))
        else { return nil }
        let names = (self.names ?? []).map { CertificateFacts.name($0) }
        guard !names.contains(nil) else { return nil }
        return CertificateFacts(
            subject: subject,
            issuer: issuer,
            names: names.compactMap(\.self),
            fingerprint: fingerprint
        )
    }
}

extension Mapping<CertificateQuestion> {
    static let question = Mapping(
        "a certificate",
        path: "cases[].certificate",
        summary: "The verified certificate of the client; `{}` for one that no rule names.",
        make: { CertificateQuestion() },
        keys: [
            Key("subject", \.subject, .text, .init(example: "CN=laptop-7,O=Example"), "The subject."),
            Key("issuer", \.issuer, .text, .init(example: "CN=Devices,O=Example"), "The issuer."),
            Key(
                "san",
                \.names,
                .oneOrMany(of: .text, named: "an alternative name or a list of them"),
                .init(example: "dns:laptop-7.example.com"),
                "The alternative names, each with its kind."
            ),
            Key("fingerprint", \.fingerprint, .text, .init(), "SHA-256 over it."),
        ],
        check: { question, written, reading in
            guard question.facts == nil else { return }
            reading.error(
                "the certificate cannot be read; write names as 'CN=laptop-7,O=Example', alternative names as 'dns:…', and a "
                    + "fingerprint of 64 hexadecimal digits",
                at: written.mark
            )
        }
    )
}
