// SPDX-License-Identifier: Apache-2.0

internal import GateYAML

/// Converts the policies of a route: who is allowed by any of them and denied by none.
///
/// https://www.pomerium.com/docs/internals/ppl
struct PomeriumPolicy {
    private(set) var allowed: [AccessCondition] = []
    private(set) var allowsAll = false
    private(set) var denied: [AccessCondition] = []
    private(set) var deniesAll = false
    private let claims: PomeriumClaims

    init(claims: PomeriumClaims) {
        self.claims = claims
    }

    /// Whether some users or requests are denied whatever else holds.
    var hasDenial: Bool { self.deniesAll || !self.denied.isEmpty }

    /// The rule.
    var access: AccessDraft {
        if self.deniesAll { return .deniedToAll }
        return self.allowsAll ? .signedIn : .any(of: self.allowed)
    }

    /// Reads all that a route has about access.
    mutating func read(route: SourceNode, _ notes: inout ImportNotes) {
        for policy in route["policy"]?.oneOrMany ?? [] { self.read(rule: policy, &notes) }
        self.readOldForms(route, &notes)
        // Older versions have these beside `policy`, or in a list of their own.
        for policy in route["policies"]?.oneOrMany ?? [] { self.readOldForms(policy, &notes) }
    }

    private mutating func readOldForms(_ node: SourceNode, _ notes: inout ImportNotes) {
        self.add(node["allowed_users"], &notes) { AccessCondition(email: $0) }
        self.add(node["allowed_domains"], &notes) { AccessCondition(domain: $0) }
        self.add(node["allowed_groups"], &notes) { AccessCondition(group: $0) }
        if let claims = node["allowed_idp_claims"] {
            self.add(claims["groups"], &notes) { AccessCondition(group: $0) }
            for (name, value) in claims.entries where name != "groups" {
                for element in value.oneOrMany {
                    if let access = self.claims.access(name, element, mayMatchMore: false) {
                        self.add(access)
                    } else {
                        notes.warning(
                            "the claim \(Scalar.quoted(name)) cannot be carried over; users whom only it admits are denied",
                            at: element.place
                        )
                    }
                }
            }
        }
        if node["allow_any_authenticated_user"]?.flag == true { self.allowsAll = true }
    }

    private mutating func add(_ list: SourceNode?, _ notes: inout ImportNotes, _ make: (String) -> AccessCondition?) {
        for element in list?.oneOrMany ?? [] {
            if let condition = element.text.flatMap(make) {
                self.allowed.append(condition)
            } else {
                notes.warning("this entry cannot be carried over; its users are denied", at: element.place)
            }
        }
    }

    /// A rule with `allow` and `deny`.
    private mutating func read(rule: SourceNode, _ notes: inout ImportNotes) {
        for (name, value) in rule.entries where !value.isNull {
            switch name {
            case "allow": self.read(allow: value, &notes)
            case "deny": self.read(deny: value, &notes)
            default:
                self.deniesAll = true
                notes.warning(
                    "\(Scalar.quoted(name)) of a policy is unknown; the app is denied to all users",
                    at: value.owner
                )
            }
        }
    }

    private mutating func read(allow: SourceNode, _ notes: inout ImportNotes) {
        let operators = allow.entries.filter { !$0.value.isNull }
        guard operators.count == 1, let (name, list) = operators.first,
            let operation = PomeriumOperator(rawValue: name)
        else {
            return notes.warning(
                "'allow' with several operators cannot be carried over; its users are denied; write 'any', 'all' and 'not'",
                at: allow.owner
            )
        }
        let rules = list.oneOrMany.map { node in
            let criterion = PomeriumCriterion(node, self.claims)
            return operation.isNegation ? criterion.negatable(mayMatchMore: true) : criterion.access
        }
        for (rule, node) in zip(rules, list.oneOrMany) where rule == nil {
            let effect = operation == .or ? "users whom only it admits are denied" : "the whole '\(name)' is left out"
            notes.warning(
                "this criterion cannot be carried over; \(effect)\(PomeriumCriterion(node, self.claims).help)",
                at: node.place
            )
        }
        for rule in rules.compactMap(\.self) where rule.usesNetworks {
            notes.warning(
                "'network' compares the client IP; list the load balancers before the gateway in 'trusted_proxies'",
                at: list.owner
            )
        }
        guard operation == .or || !rules.contains(nil) else { return }
        self.add(operation, rules.compactMap(\.self), at: list.owner, &notes)
    }

    private mutating func add(
        _ operation: PomeriumOperator,
        _ rules: [AccessDraft],
        at place: ImportPlace,
        _ notes: inout ImportNotes
    ) {
        switch operation {
        case .or:
            for rule in rules { self.add(rule) }
        case .and where !rules.isEmpty:
            let whole = rules.reduce(AccessDraft.signedIn) { $0.and($1) }
            if whole == .deniedToAll {
                notes.warning("no user can meet all criteria of this 'and', which is left out", at: place)
            }
            self.add(whole)
        case .and: break
        case .not, .nor:
            // Of the readings that several criteria could have, the one that admits fewest users.
            if let entry = AccessCondition(none: rules.flatMap(\.alternatives)) { self.allowed.append(entry) }
        }
    }

    private mutating func add(_ rule: AccessDraft) {
        switch rule {
        case .signedIn: self.allowsAll = true
        case .conditions(let conditions): self.allowed += conditions
        case .deniedToAll: break
        }
    }

    /// Without a criterion that cannot be expressed, `and` denies more users, which is safe; all else denies all users.
    private mutating func read(deny: SourceNode, _ notes: inout ImportNotes) {
        let operators = deny.entries.filter { !$0.value.isNull }
        let operation = operators.count == 1 ? PomeriumOperator(rawValue: operators[0].name) : nil
        let nodes = operators.first?.value.oneOrMany ?? []
        let mayMatchMore = operation?.isNegation == false
        let rules = nodes.map { PomeriumCriterion($0, self.claims).negatable(mayMatchMore: mayMatchMore) }
        guard let operation, let denied = operation.denied(by: rules) else {
            self.deniesAll = true
            let help = nodes.map { PomeriumCriterion($0, self.claims).help }.first { !$0.isEmpty } ?? ""
            return notes.warning(
                "this 'deny' cannot be carried over; the app is denied to all users\(help)",
                at: deny.owner
            )
        }
        self.denied += denied
        if rules.contains(nil) {
            notes.warning("a criterion of this 'deny' cannot be carried over; it denies more users", at: deny.owner)
        }
    }
}

/// How the criteria of a block are combined.
enum PomeriumOperator: String {
    case and
    case or
    case not
    case nor

    /// Whether criteria must not hold.
    var isNegation: Bool { self == .not || self == .nor }

    /// The entries of `deny` for some criteria, nil for those that cannot be expressed; nil if no entries can deny at
    /// least the same users.
    fileprivate func denied(by rules: [AccessDraft?]) -> [AccessCondition]? {
        let known = rules.compactMap(\.self)
        if self == .and {
            let whole = known.reduce(AccessDraft.signedIn) { $0.and($1) }
            return whole.alternatives.isEmpty ? nil : whole.alternatives
        }
        guard known.count == rules.count else { return nil }
        guard self.isNegation else { return known.flatMap(\.alternatives) }
        // Of the readings that several criteria could have, the one that denies most users.
        let entries = known.map { AccessCondition(none: $0.alternatives) }
        return entries.contains(nil) ? nil : entries.compactMap(\.self)
    }
}

/// One criterion of a policy.
struct PomeriumCriterion {
    private let node: SourceNode
    private let claims: PomeriumClaims

    init(_ node: SourceNode, _ claims: PomeriumClaims) {
        self.node = node
        self.claims = claims
    }

    /// The users who match; nil if that cannot be expressed.
    var access: AccessDraft? { self.access(mayMatchMore: false) }

    private func access(mayMatchMore: Bool) -> AccessDraft? {
        guard self.node.entries.count == 1, let (name, value) = self.node.entries.first else {
            // `- accept` without a value.
            return nil
        }
        switch name {
        case "authenticated_user": return value.flag == false ? nil : .signedIn
        case "domain": return self.matches(value, ["is", "in"]) { AccessCondition(domain: $0) }
        case "email": return self.matches(value, ["is", "in"]) { AccessCondition(email: $0) }
        case "group", "groups", "claim/groups":
            return self.matches(value, ["has", "is"]) { AccessCondition(group: $0) }
        case "source_ip": return self.matches(value, ["is", "in"]) { AccessCondition(networks: [$0]) }
        case "http_method": return self.matches(value, ["is", "in"]) { AccessCondition(methods: [$0]) }
        default:
            return PomeriumClaims.name(ofCriterion: name).flatMap {
                self.claims.access($0, value, mayMatchMore: mayMatchMore)
            }
        }
    }

    /// The same for `deny` and negations: nil also for all users, and for networks.
    ///
    /// A gateway whose load balancers are not listed would take their IP for that of each client.
    ///
    /// - Parameter mayMatchMore: Whether users may match who do not match in the source.
    /// - Returns: The users; nil if they cannot be expressed.
    func negatable(mayMatchMore: Bool) -> AccessDraft? {
        let access = self.access(mayMatchMore: mayMatchMore)
        guard case .conditions? = access, access?.usesNetworks == false else { return nil }
        return access
    }

    /// What expresses a criterion that is not carried over.
    var help: String {
        switch self.node.entries.first?.name {
        case "source_ip": "; write 'network'"
        case "time_of_day", "day_of_week", "date": "; write 'time' in an entry"
        case "http_path": "; write 'path' in an entry"
        case "http_method": "; write 'method' in an entry"
        case "user": "; write 'user: PROVIDER:ID' in an entry"
        case let name? where PomeriumClaims.name(ofCriterion: name) != nil: "; write 'claim' in an entry"
        default: ""
        }
    }

    /// One of the values of a matcher; nil if one of them cannot be expressed.
    private func matches(
        _ value: SourceNode,
        _ matchers: [String],
        _ make: (String) -> AccessCondition?
    ) -> AccessDraft? {
        var texts = value
        if value.isMapping {
            guard value.entries.count == 1, let (matcher, inner) = value.entries.first, matchers.contains(matcher)
            else { return nil }
            texts = inner
        }
        let conditions = (texts.texts ?? []).map(make)
        guard !conditions.isEmpty, !conditions.contains(nil) else { return nil }
        return .any(of: conditions.compactMap(\.self))
    }
}
