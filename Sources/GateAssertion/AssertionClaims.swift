// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// What an assertion says: who the person is, for which app, in which session.
package struct AssertionClaims: Sendable, Hashable {
    /// The person.
    package let profile: Profile
    /// The app's address: its origin, and its path prefix if that is not `/`.
    package let audience: String
    /// The id of the session.
    package let session: String

    /// Claims about a person for one app.
    package init(about profile: Profile, session: String, for audience: String) {
        self.profile = profile
        self.session = session
        self.audience = audience
    }

    /// The members that describe the person; what the provider did not tell is left out, groups are always there.
    var members: [String: JSON] {
        var members: [String: JSON] = [
            "aud": .string(self.audience), "sub": .string(self.profile.user), "sid": .string(self.session),
            "provider": .string(self.profile.provider), "groups": .array(self.profile.groups.map(JSON.string)),
        ]
        members["email"] = self.profile.email.map(JSON.string)
        members["email_verified"] = self.profile.email.map { _ in .bool(self.profile.emailVerified) }
        members["name"] = self.profile.name.map(JSON.string)
        members["preferred_username"] = self.profile.username.map(JSON.string)
        return members
    }
}
