// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GatePolicy
internal import GateProviders
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

/// The providers of a file, as apps refer to them.
struct KnownProviders: Sendable {
    let names: [String]
    let all: Set<String>
    private let drafts: [String: ProviderDraft]
    /// The names of providers with which anyone can get an account and sign in, in the order of the file.
    let openProviders: [String]

    /// Whether the list of providers was invalid, so that no name can be reported as unknown.
    let isUnreadable: Bool

    init(_ written: [Named<ProviderDraft>]?) {
        let providers = written ?? []
        self.isUnreadable = written == nil
        self.names = providers.map(\.name)
        self.all = Set(self.names)
        self.drafts = Dictionary(providers.map { ($0.name, $0.value) }) { first, _ in first }
        self.openProviders = providers.filter { $0.value.acceptsAnyAccount }.map(\.name)
    }

    /// Whether the provider's type reports for which email addresses the provider is the authority.
    func knowsEmailAuthority(_ name: String) -> Bool { self.definition(of: name)?.knowsEmailAuthority ?? false }

    /// Whether every user with a Google account can sign in, with any email address that is verified there.
    func isOpenGoogle(_ name: String) -> Bool {
        self.drafts[name]?.type == .google && self.openProviders.contains(name) && self.knowsEmailAuthority(name)
    }

    private func definition(of name: String) -> ProviderDefinition? {
        // An incomplete provider has been reported already.
        self.drafts[name]?.settings(id: name).flatMap { try? ProviderDefinition($0) }
    }

    /// Why a subject cannot be one of a provider, in words that follow it; nil if it can.
    func reason(against subject: String, of name: String) -> String? {
        guard let draft = self.drafts[name], let type = draft.type?.name else { return nil }
        guard !(draft.profile?.contains { $0.name == "subject" } ?? false) else { return nil }
        let email = EmailAddress(subject).map { "; for an email address write 'email: \($0)'" } ?? ""
        if ["google", "github", "gitlab", "discord", "facebook"].contains(type) {
            let isNumber = subject.utf8.allSatisfy { (0x30...0x39).contains($0) }
            return isNumber ? nil : "is not a \(type) id, which is a number\(email)"
        }
        guard ["microsoft", "apple", "slack", "linkedin"].contains(type), !email.isEmpty else { return nil }
        return "is not a \(type) id\(email)"
    }

    /// The key that enables group look-ups at a provider, as it could be written; nil without such a key.
    func lookup(of name: String) -> String? {
        guard let first = self.drafts[name]?.type?.lookups.first else { return nil }
        return "groups: [\(first)]"
    }

    /// Whether a user of this provider can have groups.
    func bringsGroups(_ name: String) -> Bool {
        guard let draft = self.drafts[name], let type = draft.type, !type.listsGroups else { return true }
        return !(draft.groups?.value ?? []).isEmpty || draft.profile?.contains { $0.name == "groups" } ?? false
    }
}

extension ProviderDraft {
    /// Whether anyone can get an account with the provider and sign in.
    fileprivate var acceptsAnyAccount: Bool {
        // Also for an incomplete provider: whom it accepts does not depend on what is missing.
        guard let type = self.type else { return false }
        return type.acceptsAnyAccount(self.settings(id: "", type: type, clientID: self.clientID ?? ""))
    }
}

/// Checks who may access one app, and builds its rule.
struct AccessCheck {
    let known: KnownProviders
    let app: Named<AppDraft>

    /// The providers that the app accepts and its rule; an invalid rule denies every user.
    func rule(_ reading: inout DecodingContext) -> (providers: Set<String>, rule: AccessRule) {
        let accepted = self.accepted(&reading)
        guard let allow = self.app.value.allow else { return (accepted, .entries([])) }
        switch allow.value {
        case .signedIn:
            self.warnOfOpenProviders(
                self.known.openProviders.filter(accepted.contains),
                "signed_in",
                at: allow.mark,
                &reading
            )
            return (accepted, .signedIn)
        case .entries(let entries):
            return (accepted, .entries(entries.map { self.entry($0, accepted, isAllowing: true, &reading) }))
        }
    }

    /// The entries of `deny`.
    func denied(_ accepted: Set<String>, _ reading: inout DecodingContext) -> [AccessEntry] {
        guard let deny = self.app.value.deny else { return [] }
        if deny.value.isEmpty {
            reading.error("'deny' is an empty list; remove it", at: deny.mark)
        }
        return deny.value.map { self.entry($0, accepted, isAllowing: false, &reading) }
    }

    private func accepted(_ reading: inout DecodingContext) -> Set<String> {
        guard let written = self.app.value.providers?.value else { return self.known.all }
        var accepted: Set<String> = []
        for provider in written where self.isKnown(provider, &reading) {
            guard accepted.insert(provider.value).inserted else {
                reading.error("\(Scalar.quoted(provider.value)) is in the list already", at: provider.mark)
                continue
            }
        }
        return accepted
    }

    private func isKnown(_ provider: Located<String>, _ reading: inout DecodingContext) -> Bool {
        guard !self.known.all.contains(provider.value), !self.known.isUnreadable else { return true }
        let nearest = reading.nearest(to: provider.value, in: self.known.names)
        let names = self.known.names.prefix(12).joined(separator: ", ")
        let help = nearest.map { "did you mean '\($0)'?" } ?? "the file has \(names.isEmpty ? "none" : names)"
        reading.error("there is no provider \(Scalar.quoted(provider.value)); \(help)", at: provider.mark)
        return false
    }

    private func warnOfOpenProviders(
        _ names: [String],
        _ rule: String,
        at mark: YAMLMark,
        _ reading: inout DecodingContext
    ) {
        guard !names.isEmpty else { return }
        let list = names.prefix(5).joined(separator: ", ") + (names.count > 5 ? ", …" : "")
        let message = "'\(rule)' allows anyone in the world, since anyone can have an account with \(list)"
        reading.warning("\(message); list the users, domains or groups to allow", at: mark)
    }

    private func entry(
        _ draft: EntryDraft,
        _ accepted: Set<String>,
        isAllowing: Bool,
        _ reading: inout DecodingContext
    ) -> AccessEntry {
        var entry = AccessEntry(line: draft.mark.line)
        entry.provider = draft.provider?.value
        entry.user = draft.user?.value
        entry.email = draft.email?.value
        entry.emailDomain = draft.emailDomain?.value
        entry.group = draft.group?.value
        if isAllowing, entry.email != nil || entry.emailDomain != nil, draft.authoritative?.value ?? true {
            entry.authorities = accepted.filter(self.known.knowsEmailAuthority)
        }
        self.check(draft, accepted, isAllowing: isAllowing, &reading)
        return entry
    }

    private func check(
        _ draft: EntryDraft,
        _ accepted: Set<String>,
        isAllowing: Bool,
        _ reading: inout DecodingContext
    ) {
        if let provider = draft.provider { self.checkAccepted(provider, accepted, &reading) }
        if let user = draft.user {
            let name = Located(value: String(user.value.prefix { $0 != ":" }), mark: user.mark)
            self.checkAccepted(name, accepted, &reading)
            let subject = String(user.value.dropFirst(name.value.count + 1))
            if let reason = self.known.reason(against: subject, of: name.value) {
                reading.error("this entry can never match; \(Scalar.quoted(subject)) \(reason)", at: user.mark)
            }
            if let provider = draft.provider, provider.value != name.value {
                let message = "this entry can never match; the user is one of \(Scalar.quoted(name.value))"
                reading.error("\(message), not of \(Scalar.quoted(provider.value))", at: user.mark)
            }
        }
        if let email = draft.email, let domain = draft.emailDomain, email.value.domain != domain.value {
            reading.error(
                "this entry can never match; the email address is not of the domain '\(domain.value)'",
                at: email.mark
            )
        }
        if let group = draft.group { self.checkGroup(group, draft, accepted, isAllowing: isAllowing, &reading) }
        self.checkAuthority(draft, accepted, isAllowing: isAllowing, &reading)
        guard isAllowing else { return }
        let isBare = draft.user == nil && draft.email == nil && draft.emailDomain == nil && draft.group == nil
        guard isBare, let provider = draft.provider, self.known.openProviders.contains(provider.value) else { return }
        self.warnOfOpenProviders([provider.value], "provider: \(provider.value)", at: provider.mark, &reading)
    }

    /// A rule on a domain together with a Google provider that accepts private accounts too.
    private func checkAuthority(
        _ draft: EntryDraft,
        _ accepted: Set<String>,
        isAllowing: Bool,
        _ reading: inout DecodingContext
    ) {
        if !isAllowing, let flag = draft.authoritative {
            reading.error(
                "'authoritative' is for entries of 'allow'; an entry of 'deny' matches every verified email address",
                at: flag.mark
            )
        }
        guard isAllowing, draft.email == nil, let domain = draft.emailDomain,
            !Self.domainsOfGoogle.contains(domain.value)
        else { return }
        let named = draft.provider?.value ?? draft.user.map { String($0.value.prefix { $0 != ":" }) }
        let sources = self.known.names.filter { accepted.contains($0) && (named ?? $0) == $0 }
        guard let open = sources.first(where: self.known.isOpenGoogle) else { return }
        let advice = "write 'hosted_domains: [\(domain.value)]' in \(open), if its users have Workspace accounts there"
        guard let flag = draft.authoritative, !flag.value else {
            let message =
                "private Google accounts with an email address of \(domain.value) sign in with \(open) and do not match"
            return reading.warning("\(message); \(advice)", at: domain.mark)
        }
        let message =
            "private Google accounts with an email address of \(domain.value) are allowed, also of users who have left"
        reading.warning("\(message); \(advice)", at: flag.mark)
    }

    private static let domainsOfGoogle = ["gmail.com", "googlemail.com"]

    private func checkAccepted(_ provider: Located<String>, _ accepted: Set<String>, _ reading: inout DecodingContext) {
        guard self.isKnown(provider, &reading), !self.known.isUnreadable, !accepted.contains(provider.value) else {
            return
        }
        let shown = Scalar.quoted(provider.value)
        reading.error(
            "this entry can never match; the app does not accept \(shown), add it to 'providers'",
            at: provider.mark
        )
    }

    private func checkGroup(
        _ group: Located<String>,
        _ draft: EntryDraft,
        _ accepted: Set<String>,
        isAllowing: Bool,
        _ reading: inout DecodingContext
    ) {
        let user = draft.user.map { String($0.value.prefix { $0 != ":" }) }
        let named = draft.provider.map { [$0.value] } ?? user.map { [$0] }
        let sources = named ?? self.known.names.filter(accepted.contains)
        let bringing = sources.filter(self.known.bringsGroups)
        guard !sources.isEmpty, !self.known.isUnreadable else { return }
        guard let first = bringing.first else {
            let list = sources.prefix(5).joined(separator: ", ")
            let lookups = sources.compactMap { name in self.known.lookup(of: name).map { "'\($0)' in '\(name)'" } }
            let help = lookups.isEmpty ? "'profile' maps 'groups'" : "\(lookups[0]) has them looked up"
            let reason = "no groups come from \(list), unless \(help)"
            return reading.error("this entry can never match; \(reason)", at: group.mark)
        }
        if isAllowing, bringing.count > 1 {
            let list = bringing.prefix(5).joined(separator: ", ")
            let message = "every user who can create a group at any of \(list) is allowed"
            reading.warning("\(message); name the provider of the group: 'provider: \(first)'", at: group.mark)
        }
        let silent = sources.filter { !self.known.bringsGroups($0) }
        if !isAllowing, !silent.isEmpty {
            let list = silent.prefix(5).joined(separator: ", ")
            let message = "every user of \(list) is denied, since their groups are not known"
            reading.warning("\(message); if that is not meant, add 'provider: \(first)'", at: group.mark)
        }
    }
}
