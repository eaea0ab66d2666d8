// SPDX-License-Identifier: Apache-2.0

internal import GateYAML

/// Converts the `Require` directives of a section.
struct RequireRules {
    /// A rule, and users whom it denies whatever else holds.
    struct Outcome {
        var access: AccessDraft
        var denied: [AccessCondition] = []
    }

    /// The name of the provider, for `Require claim sub:…`.
    let provider: String
    /// The claim that is the profile's `groups`; nil if no rule has one.
    let groupsClaim: String?
    /// All claims that rules compare, by the names of the result.
    let claims: ImportedClaims
    /// Which of the provider's claims a session has.
    let filter: ApacheClaimFilter
    /// Whether `Require user` compares email addresses.
    let usersAreEmails: Bool
    /// Whether the client IP is that of the connection, or of proxies as the gateway knows them.
    let knowsClientIP: Bool

    private static let containers: Set<String> = ["requireall", "requireany", "requirenone"]

    /// Whether a section has rules of its own.
    static func isRule(_ node: ApacheNode) -> Bool { node.name == "require" || self.containers.contains(node.name) }

    private static func isNegated(_ node: ApacheNode) -> Bool {
        node.name == "requirenone" || (node.name == "require" && node.arguments.first?.lowercased() == "not")
    }

    /// Whether the rules are `Require all granted` alone.
    static func areOpen(_ nodes: [ApacheNode]) -> Bool {
        let rules = nodes.filter(self.isRule)
        return !rules.isEmpty
            && rules.allSatisfy { $0.name == "require" && $0.arguments.map { $0.lowercased() } == ["all", "granted"] }
    }

    /// The claims that `Require claim` compares with a text, by name or path.
    static func claims(in nodes: [ApacheNode]) -> [String] {
        nodes.flatMap { node -> [String] in
            if let children = node.children { return self.claims(in: children) }
            guard node.name == "require", let start = node.arguments.firstIndex(where: { $0.lowercased() == "claim" })
            else { return [] }
            return node.arguments[(start + 1)...].compactMap { text in
                let parts = self.parts(of: text)
                return parts.isText ? parts.name : nil
            }
        }
    }

    /// The claim of `name:value` or `name~expression`, whether it is compared with a text, and with what.
    ///
    /// A name that is a URL has a colon itself.
    private static func parts(of text: String) -> (name: String, isText: Bool, value: String) {
        let isURL = text.hasPrefix("https://") || text.hasPrefix("http://")
        let end =
            isURL && !text.contains("~")
            ? text.lastIndex(of: ":") : text.firstIndex { $0 == ":" || $0 == "~" }
        guard let end else { return (text, false, "") }
        return (String(text[..<end]), text[end] == ":", String(text[text.index(after: end)...]))
    }

    static func groupClaims(in nodes: [ApacheNode]) -> [String] {
        let words = ["group", "role", "member", "entitlement"]
        return self.claims(in: nodes).filter { name in words.contains { name.lowercased().contains($0) } }
    }

    /// The rule of a section: one of several rules suffices.
    func outcome(of nodes: [ApacheNode], _ notes: inout ImportNotes) -> Outcome {
        let rules = nodes.filter(RequireRules.isRule)
        if rules.count == 1, rules[0].name == "requireall" {
            return self.all(of: rules[0].children ?? [], &notes)
        }
        return Outcome(access: self.any(of: rules, &notes))
    }

    private func any(of nodes: [ApacheNode], _ notes: inout ImportNotes) -> AccessDraft {
        var conditions: [AccessCondition] = []
        for node in nodes where RequireRules.isRule(node) {
            switch self.single(node, &notes) {
            case .signedIn?: return .signedIn
            case .conditions(let more)?: conditions += more
            case .deniedToAll?: continue
            case nil: self.warn(node, "users whom only this rule admits are denied\(self.help(node))", &notes)
            }
        }
        return .any(of: conditions)
    }

    private func all(of nodes: [ApacheNode], _ notes: inout ImportNotes) -> Outcome {
        var outcome = Outcome(access: .signedIn)
        // Negated rules admit no user by themselves.
        guard nodes.contains(where: { RequireRules.isRule($0) && !RequireRules.isNegated($0) }) else {
            return Outcome(access: .deniedToAll)
        }
        for node in nodes {
            guard RequireRules.isRule(node) else {
                self.warn(node, "the app is denied to all users", &notes)
                return Outcome(access: .deniedToAll)
            }
            if RequireRules.isNegated(node) {
                guard let denied = self.denied(by: node, &notes) else {
                    self.warn(node, "the app is denied to all users", &notes)
                    return Outcome(access: .deniedToAll)
                }
                outcome.denied += denied
            } else if let access = self.single(node, &notes) {
                outcome.access = outcome.access.and(access)
            } else {
                self.warn(node, "the app is denied to all users", &notes)
                return Outcome(access: .deniedToAll)
            }
        }
        return outcome
    }

    /// The rule of one node; nil if it cannot be expressed.
    private func single(_ node: ApacheNode, _ notes: inout ImportNotes) -> AccessDraft? {
        switch node.name {
        case "requireany": return self.any(of: node.children ?? [], &notes)
        case "requireall":
            let outcome = self.all(of: node.children ?? [], &notes)
            return outcome.denied.isEmpty ? outcome.access : nil
        case "require": return self.rule(of: node.arguments)
        default: return nil
        }
    }

    /// The users whom a negated rule denies; nil if they cannot all be expressed.
    private func denied(by node: ApacheNode, _ notes: inout ImportNotes) -> [AccessCondition]? {
        if node.name == "requirenone" {
            var all: [AccessCondition] = []
            for child in node.children ?? [] {
                guard child.name == "require", case .conditions(let conditions)? = self.rule(of: child.arguments) else {
                    return nil
                }
                all += conditions
            }
            return self.withoutNetworks(all)
        }
        guard case .conditions(let conditions)? = self.rule(of: Array(node.arguments.dropFirst())) else { return nil }
        return self.withoutNetworks(conditions)
    }

    /// The conditions; nil if one compares the client IP.
    ///
    /// A gateway whose load balancers are not listed would deny none of those clients.
    private func withoutNetworks(_ conditions: [AccessCondition]) -> [AccessCondition]? {
        conditions.contains(where: \.usesNetworks) ? nil : conditions
    }

    /// What expresses a rule that is not carried over.
    private func help(_ node: ApacheNode) -> String {
        switch node.arguments.first?.lowercased() {
        case "ip", "local", "forward-dns", "host": "; write 'network' in an entry of 'allow'"
        case "expr", "env": "; see 'path', 'method', 'network' and 'time' of an entry in docs/policy.md"
        default: ""
        }
    }

    private func rule(of arguments: [String]) -> AccessDraft? {
        let values = Array(arguments.dropFirst())
        switch arguments.first?.lowercased() {
        case "valid-user": return .signedIn
        case "all":
            return switch values.first?.lowercased() {
            case "denied": .deniedToAll
            // Beside other rules, without a sign-in; here a sign-in is needed all the same.
            case "granted": .signedIn
            default: nil
            }
        case "user" where self.usersAreEmails: return self.alternatives(values.map { AccessCondition(email: $0) })
        case "claim": return self.alternatives(values.map(self.condition))
        case "ip" where self.knowsClientIP:
            return self.alternatives([AccessCondition(networks: values.map(RequireRules.network))])
        case "method": return self.alternatives([AccessCondition(methods: RequireRules.methods(values))])
        default: return nil
        }
    }

    /// A network as Apache writes it; `10.1` is `10.1.0.0/16`.
    ///
    /// https://httpd.apache.org/docs/2.4/mod/mod_authz_host.html
    private static func network(_ text: String) -> String {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...3).contains(parts.count), parts.allSatisfy({ Int($0) != nil }) else { return text }
        return (parts + Array(repeating: "0", count: 4 - parts.count)).joined(separator: ".") + "/\(parts.count * 8)"
    }

    /// The methods of `Require method`, for which GET and HEAD are the same.
    private static func methods(_ names: [String]) -> [String] {
        let both = ["GET", "HEAD"]
        return names.contains(where: both.contains) ? both + names.filter { !both.contains($0) } : names
    }

    /// One of some conditions; nil if one of them cannot be expressed.
    private func alternatives(_ conditions: [AccessCondition?]) -> AccessDraft? {
        conditions.contains(nil) ? nil : .any(of: conditions.compactMap(\.self))
    }

    /// `name:value`, or `name~expression` for a domain of email addresses.
    private func condition(_ text: String) -> AccessCondition? {
        let (name, isText, value) = RequireRules.parts(of: text)
        guard self.filter.keeps(name) else { return nil }
        guard isText else { return name == "email" ? self.domain(of: value) : nil }
        if name == "email" { return AccessCondition(email: value) }
        if name == "sub" { return ConfigText("\(self.provider):\(value)").map { AccessCondition(user: $0) } }
        if name == self.groupsClaim { return AccessCondition(group: value) }
        // The module compares texts, whole numbers and flags with it; a fraction matches only as a text there.
        let isFraction = Double(value) != nil && Int64(value) == nil
        return isFraction ? nil : self.claims.condition(name, is: value)
    }

    private func domain(of expression: String) -> AccessCondition? {
        let starts = ["^.*@", "^.+@", ".*@", "^[^@]+@", "^[^@]*@", "@"]
        guard expression.hasSuffix("$"), let start = starts.first(where: { expression.hasPrefix($0) }) else {
            return nil
        }
        let domain = expression.dropFirst(start.count).dropLast()
        // An unescaped dot is any character; as a dot it matches fewer addresses.
        var plain = ""
        var isEscaped = false
        for character in domain {
            if character == "\\", !isEscaped {
                isEscaped = true
                continue
            }
            guard
                isEscaped
                    ? "-.".contains(character)
                    : character.isASCII && (character.isLetter || character.isNumber || "-.".contains(character))
            else { return nil }
            plain.append(character)
            isEscaped = false
        }
        return AccessCondition(domain: plain)
    }

    private func warn(_ node: ApacheNode, _ effect: String, _ notes: inout ImportNotes) {
        notes.warning("\(Scalar.quoted(node.text)) cannot be carried over; \(effect)", at: node.place)
    }
}
