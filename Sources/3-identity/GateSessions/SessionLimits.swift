// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// Shorter lifetimes of sessions on one app; where one ends, the app needs a new sign-in and the session goes on for other apps.
package struct SessionLimits: Sendable, Hashable {
    /// How long a session may have been idle, ever since its sign-in; nil for no limit of the app's own.
    package var idle: Duration?
    /// How long ago the user may have signed in; nil for no limit of the app's own.
    package var lifetime: Duration?

    /// Limits; none by default.
    package init(idle: Duration? = nil, lifetime: Duration? = nil) {
        self.idle = idle
        self.lifetime = lifetime
    }

    /// Whether the app has none.
    package var isEmpty: Bool { self.idle == nil && self.lifetime == nil }

    /// Whether the app accepts a session now.
    package func admits(_ session: Session, at now: Instant) -> Bool { self.remaining(session, at: now) > .zero }

    /// How long the app accepts a session that is not used again; zero or less if it does not.
    package func remaining(_ session: Session, at now: Instant) -> Duration {
        var remaining = Duration.seconds(Int64.max)
        if let lifetime { remaining = session.created.advanced(by: lifetime).since(now) }
        guard let idle else { return remaining }
        guard session.maxIdle < idle else { return .zero }
        return min(remaining, session.lastSeen.advanced(by: idle).since(now))
    }
}
