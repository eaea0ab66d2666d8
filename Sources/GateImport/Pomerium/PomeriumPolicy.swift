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
                notes.warning(
                    "the claim \(Scalar.quoted(name)) cannot be carried over; users whom only it admits are denied",
                    at: value.owner
                )
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
        guard operators.count == 1, let (name, list) = operators.first, name == "and" || name == "or" else {
            return notes.warning(
                "'allow' with 'not', 'nor' or several operators cannot be carried over; its users are denied",
                at: allow.owner
            )
        }
        let rules = list.oneOrMany.map { PomeriumCriterion($0).access }
        for (rule, node) in zip(rules, list.oneOrMany) where rule == nil {
            let effect = name == "and" ? "the whole 'and' is left out" : "users whom only it admits are denied"
            notes.warning("this criterion cannot be carried over; \(effect)", at: node.place)
        }
        if name == "or" {
            for rule in rules.compactMap(\.self) { self.add(rule) }
        } else if !rules.isEmpty, !rules.contains(nil) {
            let whole = rules.compactMap(\.self).reduce(AccessDraft.signedIn) { $0.and($1) }
            if whole == .deniedToAll {
                notes.warning(
                    "one entry cannot require two values of a kind; the whole 'and' is left out",
                    at: list.owner
                )
            }
            self.add(whole)
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
        guard operators.count == 1, let (name, list) = operators.first, name == "and" || name == "or" else {
            self.deniesAll = true
            return notes.warning("this 'deny' cannot be carried over; the app is denied to all users", at: deny.owner)
        }
        var conditions: [AccessCondition] = []
        var isWhole = true
        for node in list.oneOrMany {
            if case .conditions(let found)? = PomeriumCriterion(node).access {
                conditions += found
            } else {
                isWhole = false
            }
        }
        if name == "and" {
            let whole = conditions.reduce(AccessCondition?.some(AccessCondition())) { left, right in
                left.flatMap { $0.and(right) }
            }
            // `in` has alternatives, which one condition cannot have.
            if let whole, !whole.isEmpty {
                self.denied.append(whole)
                if !isWhole {
                    notes.warning(
                        "a criterion of this 'deny' cannot be carried over; it denies more users",
                        at: deny.owner
                    )
                }
                return
            }
        } else if isWhole {
            self.denied += conditions
            return
        }
        self.deniesAll = true
        notes.warning("this 'deny' cannot be carried over; the app is denied to all users", at: deny.owner)
    }
}

/// One criterion of a policy.
struct PomeriumCriterion {
    private let node: SourceNode

    init(_ node: SourceNode) {
        self.node = node
    }

    /// The users who match; nil if that cannot be expressed.
    var access: AccessDraft? {
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
        default: return nil
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
