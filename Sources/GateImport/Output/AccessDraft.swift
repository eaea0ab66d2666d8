// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Conditions on a user, all of which must hold, as one entry of `allow` or `deny`.
struct AccessCondition: Sendable, Hashable {
    var provider: String?
    var user: ConfigText?
    var email: EmailAddress?
    var domain: String?
    var group: ConfigText?

    /// No condition at all.
    init() {}

    /// The condition that the provider of the session imposes.
    init(provider: String) {
        self.provider = provider
    }

    /// The condition that a user key imposes.
    init(user: ConfigText) {
        self.user = user
    }

    /// The condition that a whole email address imposes; nil if the text is not one.
    init?(email text: String) {
        guard let email = EmailAddress(text), ConfigText(email.description) != nil else { return nil }
        self.email = email
    }

    /// The condition that a domain of email addresses imposes; nil if the text is not a whole domain.
    init?(domain text: String) {
        guard let domain = Origin.normalHost(text), domain.contains("."), !domain.hasPrefix("[") else { return nil }
        self.domain = domain
    }

    /// The condition that a group imposes; nil if the name cannot be written.
    init?(group text: String) {
        guard let group = ConfigText(text) else { return nil }
        self.group = group
    }

    /// Whether no condition is set, which would match every user.
    var isEmpty: Bool { self == AccessCondition() }

    /// Both conditions at once; nil if one entry cannot express that, such as two groups.
    func and(_ other: AccessCondition) -> AccessCondition? {
        func both<Value: Equatable>(_ left: Value?, _ right: Value?) -> Value?? {
            guard let left else { return .some(right) }
            return right == nil || right == left ? .some(left) : nil
        }
        guard let provider = both(self.provider, other.provider), let user = both(self.user, other.user),
            let email = both(self.email, other.email), let domain = both(self.domain, other.domain),
            let group = both(self.group, other.group)
        else { return nil }
        var whole = AccessCondition()
        whole.provider = provider
        whole.user = user
        whole.email = email
        whole.domain = domain
        whole.group = group
        return whole
    }

    var yaml: YAMLValue {
        var entry = YAMLMapping()
        entry.add("provider", self.provider.map { .word($0) })
        entry.add("user", self.user)
        entry.add("email", self.email.flatMap { ConfigText($0.description) })
        entry.add("email_domain", self.domain.flatMap { ConfigText($0) })
        entry.add("group", self.group)
        return .mapping(entry)
    }
}

/// Who may access an app.
enum AccessDraft: Sendable, Hashable {
    /// No user at all: the rule of the source cannot be carried over.
    case deniedToAll
    /// Every user of the accepted providers.
    case signedIn
    /// The users whom one of the conditions matches.
    case conditions([AccessCondition])

    /// The maximum number of entries of one rule.
    static let limit = 2000

    /// The users who are in this and in the other rule.
    func and(_ other: AccessDraft) -> AccessDraft {
        switch (self, other) {
        case (.deniedToAll, _), (_, .deniedToAll): return .deniedToAll
        case (.signedIn, let rest), (let rest, .signedIn): return rest
        case (.conditions(let left), .conditions(let right)):
            guard left.count * right.count <= AccessDraft.limit else { return .deniedToAll }
            return .any(of: left.flatMap { one in right.compactMap { one.and($0) } })
        }
    }

    /// The users whom one of some conditions matches; denied to all without conditions.
    static func any(of conditions: [AccessCondition]) -> AccessDraft {
        var known: Set<AccessCondition> = []
        let unique = conditions.filter { !$0.isEmpty && known.insert($0).inserted }
        return unique.isEmpty || unique.count > AccessDraft.limit ? .deniedToAll : .conditions(unique)
    }

    /// An address that cannot exist: `.invalid` is reserved, RFC 2606 §2.
    private static let unknownUser: AccessCondition = {
        var condition = AccessCondition()
        condition.email = EmailAddress("no-user@gatehouse.invalid")
        return condition
    }()

    /// `allow` and `deny`.
    ///
    /// `allow` must not be empty. A rule that denies all users allows an address that does not exist and denies it, so
    /// that it admits no user, whatever a provider claims.
    func add(denied: [AccessCondition], to app: inout YAMLMapping) {
        var denied = denied
        switch self {
        case .deniedToAll:
            app.add("allow", .list([AccessDraft.unknownUser.yaml]))
            denied = [AccessDraft.unknownUser] + denied
        case .signedIn: app.add("allow", .word("signed_in"))
        case .conditions(let conditions): app.add("allow", .list(conditions.map(\.yaml)))
        }
        app.add("deny", denied.isEmpty ? nil : .list(denied.map(\.yaml)))
    }
}
