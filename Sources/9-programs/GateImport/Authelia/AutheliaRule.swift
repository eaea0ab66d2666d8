// SPDX-License-Identifier: Apache-2.0

internal import GateYAML

/// A policy of Authelia, the weakest first.
enum AutheliaPolicy: Int, Sendable, Comparable {
    case bypass
    case oneFactor
    case twoFactor
    case deny

    /// The name has to be exact; Authelia takes any other for a denial.
    init?(_ text: String) {
        switch text {
        case "bypass": self = .bypass
        case "one_factor": self = .oneFactor
        case "two_factor": self = .twoFactor
        case "deny": self = .deny
        default: return nil
        }
    }

    static func < (left: AutheliaPolicy, right: AutheliaPolicy) -> Bool { left.rawValue < right.rawValue }
}

/// A rule of Authelia's `access_control`.
struct AutheliaRule: Sendable {
    var domains: [String]
    /// Whether it may match hosts that are not listed, by an expression or a placeholder.
    var matchesOtherHosts: Bool
    var policy: AutheliaPolicy
    /// The users of the rule; nil for all.
    var subjects: [AccessCondition]?
    /// Whether a user or a combination in `subject` cannot be expressed.
    var hasUnknownSubjects = false
    /// The paths of the rule; nil for all.
    var paths: [PathPattern]?
    /// Whether an expression in `resources` cannot be expressed.
    var hasUnknownPaths = false
    var methods: [String]
    /// The networks of the rule; nil for all.
    var networks: AccessCondition?
    /// Whether it has further conditions, such as `query`, which cannot be expressed.
    var hasFurtherConditions: Bool
    let place: ImportPlace

    /// Reads a rule; nil, and a note, if it has no meaning.
    init?(_ node: SourceNode, _ networks: AutheliaNetworks, _ notes: inout ImportNotes) {
        let policy = node["policy"]?.text.flatMap { AutheliaPolicy($0) }
        if policy == nil { notes.warning("the policy of this rule is unknown; it is treated as deny", at: node.place) }
        self.place = node.place
        self.policy = policy ?? .deny
        let domains = node["domain"].map { $0.texts?.map { $0.lowercased() } } ?? []
        // A rule without hosts is one for all.
        let hasExpressions = node["domain_regex"].map { !$0.isEmptyList } == true || domains?.isEmpty ?? true
        self.matchesOtherHosts = hasExpressions || domains?.contains { $0.contains("{") } ?? true
        self.domains = domains?.filter { !$0.contains("{") } ?? []
        let methods = node["methods"].map { $0.texts?.map { $0.uppercased() } } ?? []
        self.methods = methods ?? []
        self.hasFurtherConditions = methods == nil
        // An empty list has no effect.
        for (name, value) in node.entries where !value.isNull && !value.isEmptyList {
            switch name {
            case "domain", "domain_regex", "policy", "subject", "resources", "methods": continue
            case "networks":
                self.networks = networks.condition(value)
                self.hasFurtherConditions = self.hasFurtherConditions || self.networks == nil
                continue
            default: self.hasFurtherConditions = true
            }
            if name != "query" {
                notes.warning(
                    "\(Scalar.quoted(name)) of a rule is unknown; it counts as a condition that cannot be carried over",
                    at: value.owner
                )
            }
        }
        self.read(subject: node["subject"])
        self.read(resources: node["resources"])
    }

    /// A list of alternatives, each a subject or a list of subjects that must all match.
    private mutating func read(subject node: SourceNode?) {
        guard let node, !node.isEmptyList else { return }
        self.subjects = node.oneOrMany.compactMap { alternative in
            let parts = alternative.oneOrMany.map { part -> AccessCondition? in
                guard let text = part.text, text.hasPrefix("group:") else { return nil }
                return AccessCondition(group: String(text.dropFirst(6).drop { $0 == " " }))
            }
            var whole: AccessCondition? = parts.isEmpty ? nil : AccessCondition()
            for part in parts { whole = part.flatMap { whole?.and($0) } }
            if whole == nil { self.hasUnknownSubjects = true }
            return whole
        }
    }

    private mutating func read(resources node: SourceNode?) {
        guard let node, !node.isEmptyList else { return }
        self.paths = node.oneOrMany.compactMap { resource in
            let pattern = resource.text.flatMap { PathPattern($0)?.withQueries }
            if pattern == nil { self.hasUnknownPaths = true }
            return pattern
        }
    }

    /// The methods and networks of the rule, empty if it has neither; nil if they cannot be expressed.
    var request: AccessCondition? {
        guard !self.hasFurtherConditions else { return nil }
        let methods = self.methods.isEmpty ? AccessCondition() : AccessCondition(methods: self.methods)
        return methods?.and(self.networks ?? AccessCondition())
    }

    /// Whether the rule may match requests of a host; a wildcard means the hosts that no rule names.
    func mayMatch(host: String) -> Bool {
        self.matchesOtherHosts
            || self.domains.contains { domain in
                domain == host || (domain.hasPrefix("*.") && host.hasSuffix(domain.dropFirst()))
            }
    }
}
