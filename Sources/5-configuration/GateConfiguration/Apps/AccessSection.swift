// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GatePolicy
package import GateYAML

/// `allow` as the file has it.
enum AllowDraft: Sendable {
    case signedIn
    case entries([EntryDraft])
}

/// One entry of `allow` or `deny` as the file has it.
package struct EntryDraft: Sendable {
    var mark = YAMLMark.start
    var use: Located<String>?
    var provider: Located<String>?
    var user: Located<String>?
    var email: Located<EmailAddress>?
    var emailDomain: Located<String>?
    var group: Located<String>?
    var role: Located<String>?
    var tenant: Located<String>?
    var organization: Located<String>?
    var claim: [Named<[String]>]?
    var authoritative: Located<Bool>?
    var network: [CIDRRange]?
    var method: [String]?
    var path: Located<[PathPattern]>?
    var time: TimeWindow?
    var from: Located<Instant>?
    var until: Located<Instant>?
    var authenticated: RequestCondition?
    var mcpMethod: Located<[String]>?
    var mcpTool: Located<[String]>?
    var scope: Located<[String]>?
    var certificate: Located<CertificateConditionDraft>?
    var not: Located<[EntryDraft]>?
    var any: Located<[EntryDraft]>?
    var all: Located<[EntryDraft]>?

    /// How many levels of entries may be inside an entry.
    static let maxDepth = 3

    /// The JSON Schema of an entry, which refers to itself as `#/$defs/entry`.
    package static var schema: JSON { Mapping<EntryDraft>.entry.shape.schema }

    /// The entries inside.
    var nested: [EntryDraft] { [self.not, self.any, self.all].compactMap { $0?.value }.flatMap { $0 } }

    /// The levels of entries inside.
    var depth: Int { self.nested.map { $0.depth + 1 }.max() ?? 0 }

    var requestConditions: [RequestCondition] {
        [
            self.network.map(RequestCondition.network), self.method.map(RequestCondition.method),
            self.path.map { .path($0.value) }, self.time.map(RequestCondition.time),
            self.from.map { .from($0.value) }, self.until.map { .until($0.value) },
            self.authenticated, self.mcpMethod.map { .mcpMethod($0.value) }, self.mcpTool.map { .mcpTool($0.value) },
            self.scope.map { .scope($0.value) }, self.certificate.map { .certificate($0.value.condition) },
        ].compactMap(\.self)
    }

    /// Whether it has nothing but `use`.
    var isUse: Bool {
        self.use != nil && self.provider == nil && self.user == nil && self.email == nil && self.emailDomain == nil
            && self.group == nil && self.role == nil && self.tenant == nil && self.organization == nil
            && self.claim == nil && self.network == nil && self.method == nil && self.path == nil && self.time == nil
            && self.from == nil && self.until == nil
            && self.authenticated == nil && self.mcpMethod == nil && self.mcpTool == nil && self.scope == nil
            && self.certificate == nil
            && self.nested.isEmpty
    }
}

extension Mapping<EntryDraft> {
    /// An entry of `allow` or `deny`.
    static let entry = Mapping(
        "an entry",
        path: "apps.<name>.allow[], apps.<name>.deny[] and rules.<name>[]",
        summary:
            "Conditions on a user and a request; all of them must hold. Only verified email addresses count. What depends "
            + "on an unknown fact admits no user and lets none pass a `deny`. See [policy.md](policy.md).",
        make: { EntryDraft() },
        keys: [
            Key(
                "use",
                located: \.use,
                .text,
                .init(example: "staff"),
                "The name of a list in `rules`, one of whose entries must match."
            ),
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
                "role",
                located: \.role,
                .text,
                .init(example: "wiki-admin"),
                "A role of the user, as the profile names it."
            ),
            Key(
                "tenant",
                located: \.tenant,
                .text,
                .init(example: "example.com"),
                "The `tenant` of the profile: a Google Workspace domain, or the id of a Microsoft tenant."
            ),
            Key(
                "organization",
                located: \.organization,
                .text,
                .init(example: "acme"),
                "An organization of the user: the `tenant` of the profile, or an organization of GitHub (with "
                    + "`groups: [organizations]`) or a top-level group of GitLab."
            ),
            Key(
                "claim",
                \.claim,
                .claimConditions,
                .init(example: ["department": ["engineering", "ops"]]),
                "Claims of the user, as `claims` of the providers name them, each with a value or a list of values of which it must have "
                    + "one: a text, the digits of a number, `true` or `false`, or one text of a list."
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
        ] + requestKeys + nestedKeys,
        check: { entry, written, reading in
            entry.mark = written.mark
            if entry.depth > EntryDraft.maxDepth {
                let help = "use 'rules', or write several entries"
                reading.error("more than \(EntryDraft.maxDepth) levels of entries; \(help)", at: written.mark)
            }
            if let flag = entry.authoritative, entry.email == nil, entry.emailDomain == nil, !written.isEmpty {
                reading.error(
                    "'authoritative' needs 'email' or 'email_domain' beside it",
                    at: flag.mark
                )
            }
            entry.checkDates(&reading)
            guard written.isEmpty else { return }
            reading.error(
                "an entry without a condition matches no user; write such as '{ email_domain: example.com }'",
                at: written.mark
            )
        }
    )
}

extension EntryDraft {
    /// Rejects an end before the beginning, and warns of one that has passed.
    fileprivate func checkDates(_ reading: inout DecodingContext) {
        guard let until else { return }
        if let from, until.value <= from.value {
            let help = "the entry would never match; swap them, or correct one"
            reading.error(
                "'until' (\(until.value.timestamp)) is not after 'from' (\(from.value.timestamp)): \(help)",
                at: until.mark
            )
        } else if until.value <= WallClock.system.now {
            let help = "remove it, or write a later time"
            reading.warning(
                "'until' has passed (\(until.value.timestamp)), so this entry does not match any more; \(help)",
                at: until.mark
            )
        }
    }
}

extension Shape<EntryDraft> {
    /// An entry; the schema refers to it, since entries may be inside of entries.
    static let entry: Shape = {
        let whole = Mapping<EntryDraft>.entry.shape
        return Shape(whole.kind, schema: reference, sections: whole.sections) { whole.read($0, &$1) }
    }()

    /// An entry inside of an entry.
    fileprivate static let nested = Shape("a mapping", schema: reference) { node, reading in
        var entry = EntryDraft()
        return Mapping<EntryDraft>.entry.read(node, into: &entry, &reading) ? entry : nil
    }

    private static let reference: JSON = ["$ref": "#/$defs/entry"]
}

extension Shape<[EntryDraft]> {
    /// The entries of `deny` or of a rule set.
    static let entries = Shape.list(of: Shape<EntryDraft>.entry, named: "a list of entries")

    /// Entries inside of an entry, at least one.
    fileprivate static let nested = Shape.list(of: Shape<EntryDraft>.nested, named: "a list of entries").nonEmpty
    /// One entry inside of an entry.
    fileprivate static let one = Shape<EntryDraft>.nested.map { [$0] }

    private var nonEmpty: Shape {
        Shape(self.kind, schema: self.schema) { node, reading in
            guard node.elements?.isEmpty ?? false else { return self.read(node, &reading) }
            reading.error("the list is empty; it needs at least one entry", at: node.mark)
            return nil
        }
    }
}

extension Shape<[Named<[String]>]> {
    fileprivate static let claimConditions = entries(
        of: Shape<[String]>.oneOrMany(of: .claimValue, named: "a value or a list of values"),
        named: "a mapping of claims to values",
        rule: .claimName
    )
}

extension Shape<[Named<[EntryDraft]>]> {
    package static let ruleSets = Shape.entries(
        of: .entries,
        named: "a mapping of names to lists of entries",
        rule: .ruleSetName
    )
}

extension Mapping<EntryDraft> {
    private static let nestedKeys: [Key<EntryDraft>] = [
        Key("not", located: \.not, .one, .init(), "An entry that must not match."),
        Key("any", located: \.any, .nested, .init(), "Entries of which one must match."),
        Key(
            "all",
            located: \.all,
            .nested,
            .init(),
            "Entries that all must match. Entries may be inside of one another to three levels."
        ),
    ]
}

extension Shape<AllowDraft> {
    /// `signed_in`, or the entries of which one must match.
    static let allow: Shape = {
        let entries = Shape<[EntryDraft]>.list(
            of: .entry,
            named: "'signed_in' or a list of entries"
        )
        let list: JSON = ["type": "array", "minItems": 1, "items": Shape<EntryDraft>.entry.schema]
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
    package static let email = single("an email address", pattern: "^[^@ ]+@[^@ ]+$") { text throws(InvalidValue) in
        if let address = EmailAddress(text) { return address }
        let domain = text.hasPrefix("@") ? text.dropFirst() : text.hasPrefix("*@") ? text.dropFirst(2) : text[...]
        if domain.contains("."), !domain.contains("@"), Origin.normalHost(domain) != nil {
            throw InvalidValue("is not an email address; for a whole domain write 'email_domain: \(domain)'")
        }
        throw InvalidValue("is not an email address such as ann@example.com")
    }
}
