// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// How often something may happen in a minute for one client network or user, at all gateways of a store together.
///
/// The limits of a process come first; this one keeps several gateways from adding up. It counts in windows of a minute of the clock.
package struct SharedLimit: Sendable, Hashable {
    /// What is counted, in the key of the store.
    let name: String
    /// How often.
    let perMinute: Int

    /// Sign-ins on other devices that begin.
    package static let deviceBegins = SharedLimit(name: "device-begins", perMinute: DeviceLimiter.beginsPerClient)
    /// Wrong codes of such sign-ins.
    package static let deviceAttempts = SharedLimit(name: "device-attempts", perMinute: DeviceLimiter.attempts)

    /// Clients that register themselves.
    package static func registrations(_ perMinute: Int) -> SharedLimit {
        SharedLimit(name: "registrations", perMinute: perMinute)
    }

    /// Fetches of metadata documents of clients.
    package static func documents(_ perMinute: Int) -> SharedLimit {
        SharedLimit(name: "documents", perMinute: perMinute)
    }
}

extension SessionManager {
    /// How often a count is read again because another gateway has changed it meanwhile.
    private static let maxCounts = 4
    /// How long a count is kept, longer than its window for gateways whose clocks differ.
    private static let countLifetime = Duration.seconds(120)

    /// Counts one more for a key, such as a client network.
    ///
    /// - Parameters:
    ///   - limit: The limit.
    ///   - key: What it is counted under; nil if it is not counted.
    ///   - now: The time.
    /// - Returns: False over the limit; true while the store does not respond, since the limits of the process hold then.
    package func count(_ limit: SharedLimit, of key: String?, now: Instant) async -> Bool {
        guard let key, limit.perMinute > 0 else { return true }
        let id = SessionManager.countKey(limit, key, now)
        for _ in 0..<SessionManager.maxCounts {
            // Without the store there is nothing to count in.
            guard let current = try? await self.count(at: id, now: now) else { return true }
            guard current.count < limit.perMinute else { return false }
            let next = StoreEntry(
                kind: .limit,
                key: id,
                // Of two that write the same number at once one has to be rejected, so each value is unique.
                value: Array("\(current.count + 1) \(self.random.token(8))".utf8),
                expires: now.advanced(by: SessionManager.countLifetime)
            )
            guard let isWritten = try? await self.entries.replace(current.entry, by: next, at: now) else { return true }
            if isWritten { return true }
        }
        // So many at once: the limits of the processes bound them.
        return true
    }

    /// Whether a key is over a limit, without counting one more; false while the store does not respond.
    package func isOver(_ limit: SharedLimit, of key: String?, now: Instant) async -> Bool {
        guard let key, limit.perMinute > 0 else { return false }
        let current = try? await self.count(at: SessionManager.countKey(limit, key, now), now: now)
        return (current?.count ?? 0) >= limit.perMinute
    }

    private func count(at key: [UInt8], now: Instant) async throws(Failure) -> (entry: StoreEntry?, count: Int) {
        let entry = try await self.entries.entry(.limit, key, at: now)
        let number = entry?.value.prefix { $0 != UInt8(ascii: " ") } ?? []
        return (entry, Int(String(decoding: number, as: UTF8.self)) ?? 0)
    }

    /// The key of the count of this minute; a store that is stolen shows no IP in it.
    private static func countKey(_ limit: SharedLimit, _ key: String, _ now: Instant) -> [UInt8] {
        digest("limit/\(limit.name)/\(now.seconds / 60)", key.utf8)
    }
}
