// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The decision about a request to an app.
package enum Decision: Sendable, Hashable {
    /// A public rule covers it; no sign-in is needed.
    case openToAll
    /// The user may access the app: the entry of `allow` on that line admits them, nil for `signed_in`.
    case admitted(line: Int?)
    /// The user must first sign in with a provider that the app accepts.
    case signInNeeded
    /// The user is signed in and may not access the app.
    case denied(Denial)

    /// Why a user may not access an app.
    package enum Denial: Sendable, Hashable {
        /// No entry of `allow` matches.
        case notAllowed
        /// The entry of `allow` on that line matches, but the provider is not the authority for the email address.
        case emailNotAuthoritative(line: Int?)
        /// The entry of `deny` on that line matches.
        case denyEntry(line: Int?)
        /// Whether the entry of `deny` on that line matches depends on a fact that the provider did not return.
        case unknown(UnknownFact, line: Int?)
    }
}

extension Decision {
    /// The line of the entry that has decided, in the configuration file.
    package var line: Int? {
        switch self {
        case .admitted(let line), .denied(.emailNotAuthoritative(let line)), .denied(.denyEntry(let line)),
            .denied(.unknown(_, let line)):
            line
        case .openToAll, .signInNeeded, .denied(.notAllowed): nil
        }
    }
}

extension AccessRule {
    /// The admission of the user, or nil if nothing admits them.
    package func admission(of profile: Profile) -> Decision? {
        switch self {
        case .signedIn: .admitted(line: nil)
        case .entries(let entries): entries.first { $0.match(profile) == .yes }.map { .admitted(line: $0.line) }
        }
    }
}

extension Route {
    /// The decision about a request to this route; the same for proxying and for forward-auth.
    ///
    /// A session of a provider that the app does not accept leads to a new sign-in, never to a denial; so does a
    /// session from before a rule named a group that was not kept then.
    package func decision(method: some StringProtocol, path: some StringProtocol, profile: Profile?) -> Decision {
        if self.isOpen(method: String(method), path: Array(path.utf8).span) { return .openToAll }
        return self.decision(for: profile)
    }

    /// The decision about a request that no public rule covers; it depends on the user only.
    package func decision(for profile: Profile?) -> Decision {
        guard let profile, self.providers.contains(profile.provider) else { return .signInNeeded }
        for entry in self.denied {
            switch entry.match(profile) {
            case .yes, .unknown(.emailAuthority): return .denied(.denyEntry(line: entry.line))
            case .unknown(.keptGroups): return .signInNeeded
            case .unknown(let fact): return .denied(.unknown(fact, line: entry.line))
            case .no: continue
            }
        }
        if let admission = self.access.admission(of: profile) { return admission }
        if self.access.mayAdmitAfterSignIn(profile) { return .signInNeeded }
        let entry = self.access.entryLackingAuthority(for: profile)
        return .denied(entry.map { .emailNotAuthoritative(line: $0.line) } ?? .notAllowed)
    }

    /// Whether a public rule covers the request.
    package func isOpen(method: String, path: Span<UInt8>) -> Bool {
        for rule in self.publicRules where rule.covers(method: method, path: path) {
            return true
        }
        return false
    }
}
