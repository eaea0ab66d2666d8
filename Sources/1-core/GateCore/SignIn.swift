// SPDX-License-Identifier: Apache-2.0

/// A sign-in whose user is known, on its way to a session.
///
/// The provider's tokens or a local account give it the user; the endpoint that takes them adds what it knows; a new
/// session is made of it, or one that is confirmed takes it over.
package struct SignIn: Sendable {
    /// The user.
    package var profile: Profile
    /// The provider's ID token, a hint for the end of the session at the provider; dropped when longer than 16 KiB.
    package var idToken: Secret?
    /// The provider's end-session endpoint; nil if it has none.
    ///
    /// OpenID Connect RP-Initiated Logout §2.1.
    package var endSession: String?
    /// What the provider granted, for later re-checks; nil for a local account.
    package var grant: ProviderGrant?
    /// The `sub` of the ID token, where the profile has another subject.
    package var subjectClaim: String?
    /// The `sid` of the ID token, by which the provider ends the session.
    ///
    /// OpenID Connect Back-Channel Logout §2.4.
    package var providerSession: String?
    /// The browser and the operating system, such as `Firefox on Linux`; nil if they are not known.
    package var device: String?
    /// When the user used a passkey, and which kind of key it is; nil for a sign-in without one.
    package var passkeyUsed: (at: Instant, method: String)?
    /// What asked the user to authenticate, by its id; nil if nothing did.
    package var askedBy: String?
    /// When the callback arrived, by `WallClock.milliseconds`: a sign-out since then ends this sign-in; nil for no
    /// check.
    package var began: Int64?

    /// A sign-in with a profile only.
    package init(profile: Profile) {
        self.profile = profile
    }
}
