// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// What becomes of a request to an app.
package enum Decision: Sendable, Hashable {
    /// Anybody may have it; no identity is needed.
    case openToAll
    /// The person may enter.
    case admitted(Admission)
    /// Somebody has to sign in first, with a provider that the app accepts.
    case signInNeeded
    /// The person is known and may not enter.
    case refused(Refusal)

    /// Why somebody may not enter.
    package enum Refusal: Sendable, Hashable {
        /// No entry of `allow` fits.
        case notAllowed
        /// The entry of `allow` on that line fits but for the provider not being the authority for the address.
        case emailNotAuthoritative(line: Int?)
        /// The entry of `deny` on that line fits.
        case denied(line: Int?)
        /// Whether the entry of `deny` on that line fits depends on what the provider did not tell.
        case unknown(UnknownFact, line: Int?)
    }
}

extension Route {
    /// The decision for a request to this route; the same for proxying and for forward-auth.
    ///
    /// A session of a provider that the app does not accept leads to a new sign-in, never to a refusal; and so does one
    /// that was begun before a rule asked for a group that was not kept then.
    package func decision(method: some StringProtocol, path: some StringProtocol, person: Profile?) -> Decision {
        if self.isOpen(method: String(method), path: Array(path.utf8).span) { return .openToAll }
        return self.decision(about: person)
    }

    /// The decision for what no public rule covers; it depends on the person only.
    package func decision(about person: Profile?) -> Decision {
        guard let person, self.providers.contains(person.provider) else { return .signInNeeded }
        for entry in self.denied {
            switch entry.fit(person) {
            case .yes, .unknown(.emailAuthority): return .refused(.denied(line: entry.line))
            case .unknown(.keptGroups): return .signInNeeded
            case .unknown(let fact): return .refused(.unknown(fact, line: entry.line))
            case .no: continue
            }
        }
        if let admission = self.access.admission(of: person) { return .admitted(admission) }
        if self.access.mayAdmitAfterSignIn(person) { return .signInNeeded }
        let entry = self.access.entryLackingAuthority(for: person)
        return .refused(entry.map { .emailNotAuthoritative(line: $0.line) } ?? .notAllowed)
    }

    /// Whether a public rule covers the request.
    package func isOpen(method: String, path: Span<UInt8>) -> Bool {
        for rule in self.publicRules where rule.covers(method: method, path: path) {
            return true
        }
        return false
    }
}
