// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The claims of an assertion about a user, for one app and session.
package struct AssertionClaims: Sendable, Hashable {
    /// The user.
    package let profile: Profile
    /// The app's URL: its origin, and its path prefix if that is not `/`.
    package let audience: String
    /// The id of the session.
    package let session: String

    /// Claims about a user for one app.
    package init(about profile: Profile, session: String, for audience: String) {
        self.profile = profile
        self.session = session
        self.audience = audience
    }

    /// The members that describe the user; claims that the provider did not return are omitted, `groups` never is.
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
