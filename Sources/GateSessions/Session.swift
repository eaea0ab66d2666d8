// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// What is known of a signed-in browser.
package struct Session: Sendable, Hashable {
    /// The id that assertions carry as `sid`; it opens nothing.
    package let id: String
    /// The sign-in this session comes from; ending one session of a family ends all.
    package let family: String
    /// The person.
    package let profile: Profile
    /// The host whose cookie this is, without port; on every other host the session does not exist.
    package let host: String
    /// When the person signed in, for handed-over sessions the time of the first one.
    package let created: Instant
    /// When the session was last used, in steps of a minute.
    package internal(set) var lastSeen: Instant
    /// The provider's ID token, as a hint for its end-session endpoint.
    package internal(set) var idToken: Secret?
    /// The provider's end-session endpoint.
    package let endSession: String?
    /// The fingerprint of the provider's settings that admitted the user; nil for sessions of an earlier version.
    var admission: String?
    /// The ticket of the session at the gateway's host that this one was transferred from; nil for the first of a family.
    ///
    /// The ID token is looked up there at sign-out, so that it is kept once.
    var origin: Ticket?

    /// The name of the provider the person signed in with.
    package var provider: String { self.profile.provider }

    /// What the store and the revocation feed know the family by.
    package var familyKey: [UInt8] { digest("session/family", self.family.utf8) }

    /// An ID token longer than this many bytes is not kept.
    static let maxIDTokenBytes = 16_384
}

/// What a finished sign-in brings to a new session.
package struct SignIn: Sendable {
    /// The person.
    package var profile: Profile
    /// The provider's ID token; dropped when longer than 16 KiB.
    package var idToken: Secret?
    /// The provider's end-session endpoint.
    package var endSession: String?

    /// A sign-in of which only the person is known.
    package init(profile: Profile) {
        self.profile = profile
    }
}

/// A session and the ticket to hand to the browser, the only time the two are together.
package struct IssuedSession: Sendable {
    /// The value of the cookie to set.
    package let ticket: Ticket
    /// The session it opens.
    package let session: Session
}

/// How long sessions live.
package struct SessionLifetimes: Sendable, Hashable {
    /// How long a session may go unused.
    package let idle: Duration
    /// How long a session may last in all.
    package let absolute: Duration

    /// Lifetimes as the configuration gives them.
    package init(idle: Duration, absolute: Duration) {
        self.idle = idle
        self.absolute = absolute
    }

    /// How much longer a record lives if it is not used again; zero or less if it is over.
    package func remaining(_ record: SessionRecord, at now: Instant) -> Duration {
        let end = min(record.expires, record.created.advanced(by: self.absolute))
        return min(end, record.lastSeen.advanced(by: self.idle)).since(now)
    }
}
