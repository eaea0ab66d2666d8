// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The session of a signed-in browser.
package struct Session: Sendable, Hashable {
    /// The id, `sid` in assertions; it grants no access.
    package let id: String
    /// The sign-in this session comes from; ending one session of a family ends all.
    package let family: String
    /// The user.
    package internal(set) var profile: Profile
    /// The host of the cookie, without port; on every other host the session does not exist.
    package let host: String
    /// When the user signed in; for a transferred session the time of the first one.
    package let created: Instant
    /// When the session was last used, in steps of a minute.
    package internal(set) var lastSeen: Instant
    /// The longest time between two uses, as far as an app has a limit for it: a use after it does not make up for it.
    package internal(set) var maxIdle = Duration.zero
    /// The provider's ID token, as a hint for its end-session endpoint.
    package internal(set) var idToken: Secret?
    /// The provider's end-session endpoint.
    package let endSession: String?
    /// The fingerprint of the provider's settings that admitted the user; nil if they are ignored.
    var admission: String?
    /// The ticket of the session at the gateway's host that this one was transferred from; nil for the first of a
    /// family.
    ///
    /// Profile, ID token and grant of the family are there, so that a re-check changes one record.
    var origin: Ticket?
    /// What the provider granted; nil for transferred sessions.
    package internal(set) var grant: ProviderGrant?
    /// When the provider last confirmed that the user may sign in.
    var confirmed: Instant
    /// The `sub` of the ID token, where the profile has another subject.
    var subjectClaim: String?
    /// The `sid` of the ID token: the session at the provider.
    package internal(set) var providerSession: String?
    /// The browser and the operating system of the sign-in, such as `Firefox on Linux`; nil if they are not known.
    var device: String?
    /// What the user granted to the client whose session this is; nil for the session of a browser.
    package internal(set) var client: ClientGrant?
    /// When the user last used a passkey at the gateway, verified by the device; nil if never in this sign-in.
    package internal(set) var passkeyUsed: Instant?
    /// What kind of key that passkey is, by the names of RFC 8176; nil with none.
    var passkeyMethod: String?
    /// Whether uses of passkeys on other hosts do not count in it: those below a wildcard may belong to others.
    var keepsOwnProofs = false
    /// What asked the user to authenticate at this sign-in, by its id: a client's request, or a rule; nil if nothing did.
    package internal(set) var askedBy: String?
    /// Which of the user's sign-ins of the same second it is, from 0; counted only where their number is limited.
    var order: Int64 = 0

    /// The name of the provider that the user signed in with.
    package var provider: String { self.profile.provider }

    /// When the session is over however often it is used; nil for as long as sessions last.
    ///
    /// Such a session comes from a token of an issuer, about which the issuer is not asked again.
    package var ends: Instant? { self.client?.ends }

    /// When the user last authenticated, for rules: as the provider reports it, else at a sign-in that asked for it; nil if unknown.
    ///
    /// Tokens have only what the provider reports.
    package var authenticated: Instant? { self.profile.authTime ?? self.askedBy.map { _ in self.created } }

    /// Takes over what the provider returned at a re-check; the time of the authentication stays where it returned none, and the key
    /// for apps in any case.
    mutating func replaceProfile(by profile: Profile) {
        let known = self.profile
        self.profile = profile
        self.profile.connectedKey = known.connectedKey
        // An ID token of a refresh need not have how and when the user authenticated: OpenID Connect Core §12.2. What it has is of one
        // authentication: nothing of an earlier one is put beside that.
        self.profile.authTime = profile.authTime ?? known.authTime
        let isSame = profile.authTime == nil || profile.authTime == known.authTime
        if isSame, profile.acr == nil, profile.amr.isEmpty {
            (self.profile.acr, self.profile.amr) = (known.acr, known.amr)
        }
    }

    /// How the user authenticated, by the names of RFC 8176: as the provider reports it, and with a passkey at the gateway.
    package var methods: [String] {
        guard let method = self.passkeyMethod, !self.profile.amr.contains(method) else { return self.profile.amr }
        return self.profile.amr + [method]
    }

    /// The key of the family in the store and the revocation feed.
    package var familyKey: [UInt8] { digest("session/family", self.family.utf8) }

    /// The id of the sign-in in tokens for clients, the same for all of them; it grants no access.
    package var signInID: String { Session.signInID(ofFamily: self.familyKey) }

    /// The same by the key of the family.
    package static func signInID(ofFamily key: [UInt8]) -> String {
        Base64URL.encode(digest("session/sign-in-id", key).prefix(16))
    }

    /// The maximum length of an ID token that is kept.
    static let maxIDTokenBytes = 16_384
}

/// A new session and its ticket for the browser; nothing else holds both.
package struct IssuedSession: Sendable {
    /// The value of the cookie to set.
    package let ticket: Ticket
    /// The session it opens.
    package let session: Session
    /// The ids of a session of each of the user's sign-ins that it has ended because there were too many; nil where the store does
    /// not have it.
    package internal(set) var ended: [String?] = []
    /// Why more could not be ended; the next sign-in ends them.
    package internal(set) var endFailure: Failure?
}

package struct SessionLifetimes: Sendable, Hashable {
    /// How long a session may be idle.
    package let idle: Duration
    /// How long a session may last in total.
    package let absolute: Duration

    /// The lifetimes of the configuration.
    package init(idle: Duration, absolute: Duration) {
        self.idle = idle
        self.absolute = absolute
    }

    /// The remaining lifetime of a record that is not used again; zero or less if it has expired.
    package func remaining(_ record: SessionRecord, at now: Instant) -> Duration {
        self.remaining(StoredSignIn(record), at: now)
    }

    /// The same of a sign-in.
    func remaining(_ signIn: StoredSignIn, at now: Instant) -> Duration {
        let end = min(signIn.expires, signIn.created.advanced(by: self.absolute))
        return min(end, signIn.lastSeen.advanced(by: self.idle)).since(now)
    }
}
