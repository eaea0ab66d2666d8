// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// A hash under which a store finds sessions without opening them; see ``SessionRecord/labels``.
///
/// The hash of a known user or session is reproducible, since a sign-out everywhere has nothing else to find sessions by:
/// a copy of the store names no user, but shows whether a user whose id is already known has sessions.
package struct SessionLabel: Sendable, Hashable {
    /// The label, 32 bytes.
    package let hash: [UInt8]

    private init(_ kind: StaticString, _ parts: String...) {
        // With its length before it, no part can be read as the end of the one before.
        self.hash = digest("label/\(kind)", parts.map { "\($0.utf8.count):\($0)" }.joined().utf8)
    }

    /// The label of all sessions of a user, by the parts of its profile.
    package static func user(provider: String, issuer: String, subject: String) -> SessionLabel {
        SessionLabel("user", provider, issuer, subject)
    }

    /// The label of all sessions of a user, by the `sub` of its ID tokens; only where a profile has another subject.
    package static func subjectClaim(provider: String, issuer: String, subject: String) -> SessionLabel {
        SessionLabel("subject-claim", provider, issuer, subject)
    }

    /// The label of the sessions that come from one session at the provider, by the `sid` of their ID tokens.
    package static func providerSession(provider: String, issuer: String, id: String) -> SessionLabel {
        SessionLabel("provider-session", provider, issuer, id)
    }

    /// The label of the session of a client in a family.
    static func client(_ id: String, ofFamily key: [UInt8]) -> SessionLabel {
        SessionLabel("client", Base64URL.encode(key), id)
    }

    /// The label of the sessions of a user whose ID tokens have no `sid`.
    ///
    /// A logout token with `sub` and `sid` ends them as well: one of them may come from the session that it names.
    ///
    /// - Parameter user: The label of the user, by the subject that logout tokens name.
    /// - Returns: The label.
    package static func withoutProviderSession(of user: SessionLabel) -> SessionLabel {
        SessionLabel("no-provider-session", Base64URL.encode(user.hash))
    }
}

extension Profile {
    /// The label of all sessions of this user.
    var label: SessionLabel {
        .user(provider: self.provider, issuer: self.issuer, subject: self.subject)
    }
}

extension Session {
    /// The labels of its record: of the user, of the ID token's subject, and of the session at the provider or that it
    /// has none; of the client whose session it is.
    var labels: [SessionLabel] {
        let (provider, issuer) = (self.provider, self.profile.issuer)
        let subject = self.subjectClaim.map {
            SessionLabel.subjectClaim(provider: provider, issuer: issuer, subject: $0)
        }
        let session = self.providerSession.map {
            SessionLabel.providerSession(provider: provider, issuer: issuer, id: $0)
        }
        let user = self.profile.label
        let client = self.client.map { SessionLabel.client($0.client, ofFamily: self.familyKey) }
        return [user] + [subject, session ?? .withoutProviderSession(of: subject ?? user), client].compactMap(\.self)
    }
}
