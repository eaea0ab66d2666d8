// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Conditions on a user and a request, all of which must hold, as one entry of `allow` or `deny`.
struct AccessCondition: Sendable, Hashable {
    var provider: String?
    var user: ConfigText?
    var email: EmailAddress?
    var domain: String?
    var group: ConfigText?
    var role: ConfigText?
    /// A claim by its name in the result, and the value that it must have.
    private(set) var claim: ClaimValue?
    /// Paths below which the request has to be, in the form of our rules; empty for all.
    private(set) var paths: [ConfigText] = []
    /// The networks of which one has the client IP; empty for all.
    private(set) var networks: [String] = []
    /// The methods of which the request has one; empty for all.
    private(set) var methods: [String] = []
    /// Further conditions of the same kinds, none of which has `all` or `none`.
    private(set) var all: [AccessCondition] = []
    /// Conditions that must not match; none of them has `none`.
    private(set) var none: [AccessCondition] = []

    struct ClaimValue: Sendable, Hashable {
        let name: String
        let value: ConfigText
    }

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

    /// The condition that a role imposes; nil if the name cannot be written.
    init?(role text: String) {
        guard let role = ConfigText(text) else { return nil }
        self.role = role
    }

    /// The condition that a claim has a value, or a list of values with it; nil if the value cannot be written.
    init?(claim name: String, is value: String) {
        guard let text = ConfigText(value), value.utf8.count <= 1024 else { return nil }
        self.claim = ClaimValue(name: name, value: text)
    }

    /// The condition that the path starts with a text, which may end within a segment; nil if it cannot be written.
    init?(pathsWithPrefix text: String) {
        guard PathPattern.isCanonical(text), let within = ConfigText("\(text)*"), let below = ConfigText("\(text)*/**")
        else { return nil }
        self.paths = [within, below]
    }

    /// The condition that the path is exactly one; nil if it cannot be written.
    init?(path text: String) {
        guard PathPattern.isCanonical(text), let path = ConfigText(text) else { return nil }
        self.paths = [path]
    }

    /// Every user with a verified email address, whatever it is.
    ///
    /// Without one, the address is unknown, and an entry that compares it does not match, negated or not.
    static let verifiedEmail: AccessCondition = {
        var condition = AccessCondition()
        condition.none = [AccessDraft.unknownUser]
        return condition
    }()

    /// The condition that the client IP is of one of some networks; nil for an empty list, and if one is not a
    /// network such as `10.0.0.0/8`.
    init?(networks: [String]) {
        guard !networks.isEmpty, networks.allSatisfy({ CIDRRange($0) != nil }) else { return nil }
        self.networks = networks
    }

    /// The condition that a request has one of some methods; nil for an empty list, and if one is never forwarded.
    init?(methods: [String]) {
        let isWritable = methods.allSatisfy { name in
            !["CONNECT", "TRACE", "TRACK", "PRI"].contains(name) && (1...32).contains(name.utf8.count)
                && name.utf8.allSatisfy { (0x41...0x5A).contains($0) || $0 == UInt8(ascii: "-") }
        }
        guard !methods.isEmpty, isWritable else { return nil }
        self.methods = methods
    }

    /// The condition that none of some conditions matches; nil for an empty list, and if one has a negation itself.
    init?(none conditions: [AccessCondition]) {
        let isWritable = conditions.allSatisfy { one in !one.isEmpty && one.none.isEmpty }
        guard !conditions.isEmpty, isWritable else { return nil }
        self.none = conditions
    }

    /// Whether no condition is set, which would match every user.
    var isEmpty: Bool { self == AccessCondition() }

    /// Whether a group is compared, also within a negation.
    var usesGroups: Bool { self.group != nil || (self.all + self.none).contains(where: \.usesGroups) }

    /// The names of the claims that are compared, also within a negation.
    var claimNames: Set<String> {
        (self.all + self.none).reduce(into: Set([self.claim?.name].compactMap(\.self))) { $0.formUnion($1.claimNames) }
    }

    /// Whether the client IP is compared, also within a negation.
    var usesNetworks: Bool { !self.networks.isEmpty || (self.all + self.none).contains(where: \.usesNetworks) }

    /// Both conditions at once; nil if no user can meet them.
    func and(_ other: AccessCondition) -> AccessCondition? {
        func both<Value: Equatable>(_ left: Value?, _ right: Value?) -> Value?? {
            guard let left else { return .some(right) }
            return right == nil || right == left ? .some(left) : nil
        }
        guard let provider = both(self.provider, other.provider), let user = both(self.user, other.user),
            let email = both(self.email, other.email), let domain = both(self.domain, other.domain)
        else { return nil }
        var whole = AccessCondition()
        var further = AccessCondition()
        whole.provider = provider
        whole.user = user
        whole.email = email
        whole.domain = domain
        whole.group = self.group ?? other.group
        if self.group != nil, self.group != other.group { further.group = other.group }
        whole.role = self.role ?? other.role
        if self.role != nil, self.role != other.role { further.role = other.role }
        whole.claim = self.claim ?? other.claim
        if self.claim != nil, self.claim != other.claim { further.claim = other.claim }
        whole.paths = self.paths.isEmpty ? other.paths : self.paths
        if !self.paths.isEmpty, self.paths != other.paths { further.paths = other.paths }
        whole.networks = self.networks.isEmpty ? other.networks : self.networks
        if !self.networks.isEmpty, self.networks != other.networks { further.networks = other.networks }
        whole.methods = self.methods.isEmpty ? other.methods : self.methods
        if !self.methods.isEmpty, self.methods != other.methods { further.methods = other.methods }
        whole.all = self.all + other.all + (further.isEmpty ? [] : [further])
        whole.none = self.none + other.none
        return whole
    }

    var yaml: YAMLValue {
        var entry = YAMLMapping()
        entry.add("provider", self.provider.map { .word($0) })
        entry.add("user", self.user)
        entry.add("email", self.email.flatMap { ConfigText($0.description) })
        entry.add("email_domain", self.domain.flatMap { ConfigText($0) })
        entry.add("group", self.group)
        entry.add("role", self.role)
        if let claim {
            var claims = YAMLMapping()
            claims.add(claim.name, .texts([claim.value]))
            entry.add("claim", claims)
        }
        entry.add("path", .texts(self.paths))
        entry.add("network", .texts(self.networks.compactMap { ConfigText($0) }))
        entry.add("method", .texts(self.methods.compactMap { ConfigText($0) }))
        entry.add("all", self.all.isEmpty ? nil : .list(self.all.map(\.yaml)))
        var any = YAMLMapping()
        any.add("any", .list(self.none.map(\.yaml)))
        entry.add("not", self.none.isEmpty ? nil : self.none.count == 1 ? self.none[0].yaml : .mapping(any))
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

    /// The conditions; none if the rule has all users, or no user.
    var alternatives: [AccessCondition] {
        if case .conditions(let conditions) = self { conditions } else { [] }
    }

    /// Whether the client IP is compared.
    var usesNetworks: Bool { self.alternatives.contains(where: \.usesNetworks) }

    /// The names of the claims that are compared.
    var claimNames: Set<String> { self.alternatives.reduce(into: []) { $0.formUnion($1.claimNames) } }

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
    fileprivate static let unknownUser: AccessCondition = {
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
