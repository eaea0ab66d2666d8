// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateYAML

/// `allow` as the file has it.
enum AllowDraft: Sendable {
    case signedIn
    case entries([EntryDraft])
}

/// One entry of `allow` or `deny` as the file has it.
struct EntryDraft: Sendable {
    var mark = YAMLMark.start
    var provider: Located<String>?
    var user: Located<String>?
    var email: Located<EmailAddress>?
    var emailDomain: Located<String>?
    var group: Located<String>?
    var authoritative: Located<Bool>?
}

extension Mapping<EntryDraft> {
    /// An entry of `allow` or `deny`.
    static let entry = Mapping(
        "an entry",
        path: "apps.<name>.allow[] and apps.<name>.deny[]",
        summary: "Conditions on a user; all of them must hold. Only verified email addresses count.",
        make: { EntryDraft() },
        keys: [
            Key(
                "provider",
                located: \.provider,
                .text,
                .init(example: "google"),
                "The name of the provider in this file."
            ),
            Key(
                "user",
                located: \.user,
                .userKey,
                .init(example: "google:104729384756102938475"),
                "The user key, `provider:subject`."
            ),
            Key(
                "email",
                located: \.email,
                .email,
                .init(example: "ann@example.com"),
                "The whole verified email address."
            ),
            Key(
                "email_domain",
                located: \.emailDomain,
                .domain,
                .init(example: "example.com"),
                "The domain of the verified email address, compared as a whole."
            ),
            Key(
                "group",
                located: \.group,
                .text,
                .init(example: "acme/platform"),
                "A group of the user, as the profile names it."
            ),
            Key(
                "authoritative",
                located: \.authoritative,
                .flag,
                .init(default: .value(true)),
                "With `email` or `email_domain` in `allow`: whether the provider has to be the authority for the email address, "
                    + "where its type reports that (google, microsoft), and not only have verified it once. A private "
                    + "Google account with the email address of a company does not belong to that company."
            ),
        ],
        check: { entry, written, reading in
            entry.mark = written.mark
            if let flag = entry.authoritative, entry.email == nil, entry.emailDomain == nil, !written.isEmpty {
                reading.error(
                    "'authoritative' needs 'email' or 'email_domain' beside it",
                    at: flag.mark
                )
            }
            guard written.isEmpty else { return }
            reading.error(
                "an entry without a condition matches no user; write such as '{ email_domain: example.com }'",
                at: written.mark
            )
        }
    )
}

extension Shape<AllowDraft> {
    /// `signed_in`, or the entries of which one must match.
    static let allow: Shape = {
        let entries = Shape<[EntryDraft]>.list(
            of: Mapping<EntryDraft>.entry.shape,
            named: "'signed_in' or a list of entries"
        )
        let list: JSON = ["type": "array", "minItems": 1, "items": Mapping<EntryDraft>.entry.shape.schema]
        let schema: JSON = ["anyOf": [["const": "signed_in"], list, Schema.reference]]
        return Shape(entries.kind, schema: schema, sections: entries.sections) { node, reading in
            if case .scalar = node.content { return Shape.word(node, &reading) }
            guard let list = entries.read(node, &reading) else { return nil }
            guard case .sequence(let nodes) = node.content, !nodes.isEmpty else {
                reading.error(
                    "the list is empty, so every user is denied; write 'signed_in' or at least one entry",
                    at: node.mark
                )
                return nil
            }
            return .entries(list)
        }
    }()

    private static func word(_ node: YAMLNode, _ reading: inout DecodingContext) -> AllowDraft? {
        guard let scalar = reading.scalar(node, kind: "'signed_in' or a list of entries") else { return nil }
        guard scalar.text != "signed_in" else { return .signedIn }
        let hint = reading.nearest(to: scalar.text, in: ["signed_in"]).map { "did you mean '\($0)'?" }
        let help = hint ?? "write 'signed_in' or a list of entries"
        reading.error("\(scalar.shown) is not a rule; \(help)", at: scalar.mark)
        return nil
    }
}

extension Shape<String> {
    /// A user key.
    static let userKey = single("a user key", pattern: "^[a-z0-9][a-z0-9_\\-]*:.+$") { text throws(InvalidValue) in
        guard let colon = text.firstIndex(of: ":"), text[text.index(after: colon)...].isEmpty == false else {
            let help = text.contains("@") ? "; for an email address write 'email'" : ""
            throw InvalidValue(
                "is not a user key; it is 'provider:subject', such as google:104729384756102938475\(help)"
            )
        }
        guard text.utf8.count <= 512 else { throw InvalidValue("is longer than a user key can be") }
        return text
    }
}

extension Shape<EmailAddress> {
    /// A whole email address.
    static let email = single("an email address", pattern: "^[^@ ]+@[^@ ]+$") { text throws(InvalidValue) in
        if let address = EmailAddress(text) { return address }
        let domain = text.hasPrefix("@") ? text.dropFirst() : text.hasPrefix("*@") ? text.dropFirst(2) : text[...]
        if domain.contains("."), !domain.contains("@"), Origin.normalHost(domain) != nil {
            throw InvalidValue("is not an email address; for a whole domain write 'email_domain: \(domain)'")
        }
        throw InvalidValue("is not an email address such as ann@example.com")
    }
}
