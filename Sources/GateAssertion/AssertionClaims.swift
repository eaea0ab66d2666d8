// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The identity of clients that a public rule admits by their network; no user key is without a colon.
package enum NetworkIdentity {
    /// The user.
    package static let user = "anonymous@network"
}

/// The claims of an assertion about a user, for one app and session.
package struct AssertionClaims: Sendable, Hashable {
    /// The user; nil for ``NetworkIdentity``.
    private let profile: Profile?
    /// The app's URL: its origin, and its path prefix if that is not `/`.
    private let audience: String
    /// The id of the session; nil without one.
    private let session: String?

    /// Claims about a user for one app.
    package init(about profile: Profile, session: String, for audience: String) {
        self.profile = profile
        self.session = session
        self.audience = audience
    }

    /// Claims about a client that its network admits.
    package init(networkFor audience: String) {
        self.profile = nil
        self.session = nil
        self.audience = audience
    }

    /// The members that describe the user; claims that the provider did not return are omitted, `groups` never is.
    var members: [String: JSON] {
        guard let profile, let session else {
            return ["aud": .string(self.audience), "sub": .string(NetworkIdentity.user), "groups": []]
        }
        var members: [String: JSON] = [
            "aud": .string(self.audience), "sub": .string(profile.forwardedKey), "sid": .string(session),
            "provider": .string(profile.provider), "groups": .array(profile.groups.map(JSON.string)),
        ]
        members["email"] = profile.email.map(JSON.string)
        members["email_verified"] = profile.email.map { _ in .bool(profile.emailVerified) }
        members["name"] = profile.name.map(JSON.string)
        members["preferred_username"] = profile.username.map(JSON.string)
        return members
    }
}
