// SPDX-License-Identifier: Apache-2.0

internal import GateYAML

/// Converts the rules of one host, of which the first that matches decides, to those of an app at a path.
///
/// A rule that cannot be expressed is left out, and no later rule may then be weaker than it: such a one counts as the
/// stronger policy. So users may be denied, or asked for a second factor, but never the reverse.
struct AutheliaAccess {
    /// The provider whose users have signed in with a second factor.
    let twoFactorProvider: String
    private var conditions: [AccessCondition] = []
    /// No later rule may be weaker.
    private var minimum = AutheliaPolicy.bypass
    private var denied: [AccessCondition] = []
    private var publicPaths: [PublicPath] = []
    private(set) var usesTwoFactors = false

    init(twoFactorProvider: String) {
        self.twoFactorProvider = twoFactorProvider
    }

    /// Adds the rules to an app at its path.
    mutating func apply(
        _ rules: [AutheliaRule],
        standard: AutheliaPolicy,
        to app: inout ImportedApp,
        _ notes: inout ImportNotes
    ) {
        var access: AccessDraft?
        for rule in rules where access == nil { access = self.access(by: rule, path: app.path, &notes) }
        app.access = access ?? self.all(standard, path: app.path)
        app.denied = self.denied
        // A session with one factor then leads to a new sign-in, not to a denial.
        if case .conditions(let conditions) = app.access,
            conditions.allSatisfy({ $0.provider == self.twoFactorProvider })
        {
            app.providers = [self.twoFactorProvider]
        }
        for path in self.publicPaths { app.makePublic(path) }
    }

    /// Reads the next rule; the result, if no later rule matters.
    private mutating func access(by rule: AutheliaRule, path: String, _ notes: inout ImportNotes) -> AccessDraft? {
        let policy = max(rule.policy, self.minimum)
        if policy != rule.policy {
            notes.note(
                "an earlier rule that cannot be carried over is stricter, so this one counts as stricter too",
                at: rule.place
            )
        }
        let coversPath =
            rule.paths?.contains { pattern in pattern.subtree.map { PathPattern.contains($0, path) } ?? false }
            ?? true
        if !coversPath { return self.addInner(rule, policy, path: path, &notes) }
        switch policy {
        case .bypass:
            guard rule.request?.isEmpty ?? false, rule.subjects == nil else {
                return self.addBypass(rule, [PathPattern("^/")], path: path, &notes)
            }
            return self.all(.bypass, path: path)
        case .deny:
            // Requests that match no more are decided by later rules, but `deny` does not hold for public paths.
            self.minimum = max(self.minimum, .oneFactor)
            // Without networks and other conditions it denies more.
            let methods = AccessCondition(methods: rule.methods)
            guard let subjects = rule.subjects else {
                guard let methods else { return self.finished(.deny, path: path) }
                self.denied.append(methods)
                return nil
            }
            guard !rule.hasUnknownSubjects else {
                notes.warning(
                    "this rule denies users who cannot be named here; all users who reach it are denied",
                    at: rule.place
                )
                return self.finished(.deny, path: path)
            }
            self.denied += subjects.compactMap { $0.and(methods ?? AccessCondition()) }
            return nil
        case .oneFactor, .twoFactor:
            self.minimum = max(self.minimum, policy)
            guard let request = rule.request else {
                notes.warning(
                    "a rule with query, unknown networks or methods is not carried over; users whom only it admits are denied",
                    at: rule.place
                )
                return nil
            }
            if rule.networks != nil {
                notes.warning(
                    "'network' compares the client IP; list the load balancers before the gateway in 'trusted_proxies'",
                    at: rule.place
                )
            }
            if rule.subjects == nil, request.isEmpty { return self.finished(policy, path: path) }
            if rule.hasUnknownSubjects {
                notes.warning(
                    "users in 'subject' are not carried over and denied; write 'user: PROVIDER:ID' or 'email' in 'allow'",
                    at: rule.place
                )
            }
            let subjects = rule.subjects ?? [AccessCondition()]
            self.conditions += subjects.compactMap { $0.and(request) }.compactMap { self.with(policy, $0) }
            return nil
        }
    }

    /// Reads a rule for paths within the app, or for paths that are not known.
    private mutating func addInner(
        _ rule: AutheliaRule,
        _ policy: AutheliaPolicy,
        path: String,
        _ notes: inout ImportNotes
    ) -> AccessDraft? {
        if policy == .bypass { return self.addBypass(rule, rule.paths ?? [], path: path, &notes) }
        // A whole subtree is an app of its own.
        let isSeparate = !rule.hasUnknownPaths && (rule.paths ?? []).allSatisfy { $0.subtree != nil }
        guard !isSeparate else { return nil }
        self.minimum = max(self.minimum, policy)
        let effect = policy == .deny ? "all users who reach it are denied" : "later rules count as no weaker than it"
        notes.warning("the expression in 'resources' cannot be carried over; \(effect)", at: rule.place)
        return policy == .deny ? self.finished(.deny, path: path) : nil
    }

    /// Makes paths public, if nothing but their method is a condition.
    private mutating func addBypass(
        _ rule: AutheliaRule,
        _ patterns: [PathPattern?],
        path: String,
        _ notes: inout ImportNotes
    ) -> AccessDraft? {
        let methods: Set = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "REPORT"]
        let isPossible =
            !rule.hasFurtherConditions && rule.networks == nil && rule.subjects == nil
            && rule.methods.allSatisfy { methods.contains($0) }
        if !isPossible || rule.hasUnknownPaths {
            let help = rule.networks == nil ? "" : "; for networks write 'public: [{ path: …, network: … }]'"
            notes.warning(
                "paths of this rule need a sign-in: its conditions or expressions cannot be carried over\(help)",
                at: rule.place
            )
        }
        guard isPossible else { return nil }
        let names: [String?] = rule.methods.isEmpty ? [nil] : rule.methods
        for name in names {
            for found in patterns.compactMap(\.self).flatMap({ $0.publicPaths(method: name) }) {
                let isWhole = found.path == "/" && path != "/"
                let rules =
                    isWhole
                    ? [PublicPath(method: name, path: path), PublicPath(method: name, path: "\(path)/")] : [found]
                self.publicPaths += rules.filter { PathPattern.contains(path, $0.path) }
            }
        }
        return nil
    }

    /// The result when a policy decides for all further users.
    private mutating func finished(_ policy: AutheliaPolicy, path: String) -> AccessDraft {
        self.all(policy, path: path)
    }

    private mutating func all(_ policy: AutheliaPolicy, path: String) -> AccessDraft {
        switch max(policy, self.minimum) {
        case .deny: return .any(of: self.conditions)
        case .oneFactor: return .signedIn
        case .twoFactor:
            self.usesTwoFactors = true
            return .any(of: self.conditions + [AccessCondition(provider: self.twoFactorProvider)])
        case .bypass:
            if path != "/" { self.publicPaths.append(PublicPath(path: path)) }
            self.publicPaths.append(PublicPath(path: path == "/" ? "/" : "\(path)/"))
            return .any(of: self.conditions)
        }
    }

    private mutating func with(_ policy: AutheliaPolicy, _ condition: AccessCondition) -> AccessCondition? {
        guard policy == .twoFactor else { return condition }
        self.usesTwoFactors = true
        return condition.and(AccessCondition(provider: self.twoFactorProvider))
    }
}
