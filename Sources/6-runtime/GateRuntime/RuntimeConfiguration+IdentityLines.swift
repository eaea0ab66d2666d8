// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
package import GateCore
internal import GateHeaders
internal import GateOperations
package import GateSessions
package import NIOCore
internal import Synchronization

extension RuntimeConfiguration {
    /// The identity of a session for an app, and until when it may be used.
    ///
    /// No assertion is valid beyond `accessUntil`, when a date in the rules may end the access; nil if none does.
    /// A token of the provider that the session does not have, or that has expired, is left out, counted and logged.
    ///
    /// - Throws: When the assertion cannot be signed, or the lines have too many bytes; the request must then not be forwarded.
    package func identityLines(
        for session: Session,
        on route: RuntimeRoute,
        now: Instant,
        accessUntil end: Instant? = nil
    ) throws(Failure) -> (lines: ByteBuffer, refreshAt: Instant) {
        let lines = try self.identity.lines(
            for: session,
            on: route.route,
            as: route.identity,
            now: now,
            accessUntil: end
        )
        let halfLife = now.advanced(by: self.identity.halfLife)
        let refreshAt = end.map { min($0, halfLife) } ?? halfLife
        guard let kind = route.identity.providerToken else { return (lines, refreshAt) }
        switch ProviderToken(kind, of: session, at: now) {
        case .valid(_, let end): return (lines, min(refreshAt, end ?? refreshAt))
        case .absent: self.tokenOmitted(kind, "absent", session, route)
        case .expired: self.tokenOmitted(kind, "expired", session, route)
        }
        return (lines, refreshAt)
    }

    /// Machines have no token of a provider, and none is missing.
    private func tokenOmitted(_ kind: ProviderTokenKind, _ reason: String, _ session: Session, _ route: RuntimeRoute) {
        guard self.providers[session.provider] != nil else { return }
        self.services.metrics.tokenOmitted(app: route.name, token: kind.rawValue, reason: reason)
        guard self.omittedTokens.isFirst("\(route.index) \(session.id) \(reason)") else { return }
        self.services.log.tokenOmitted(
            kind.rawValue,
            reason,
            app: route.name,
            user: session.profile.user,
            session: session.id
        )
    }
}

/// What was logged already, so that it is logged once; of bounded size.
final class LoggedOnce: Sendable {
    private static let capacity = 4096
    private let seen = Mutex<Set<String>>([])

    /// Whether it is the first time, as far as is remembered.
    func isFirst(_ key: String) -> Bool {
        self.seen.withLock { seen in
            if seen.count >= LoggedOnce.capacity { seen.removeAll(keepingCapacity: true) }
            return seen.insert(key).inserted
        }
    }
}
