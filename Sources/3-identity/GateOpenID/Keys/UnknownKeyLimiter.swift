// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Decides whether a key name that no key set had yet is worth a fetch.
///
/// At most one such fetch in 30 seconds, whatever the names, and none for a name that a fetch has just not brought. A
/// name is forgotten after a minute: a provider's servers learn of a new key one after the other.
struct UnknownKeyLimiter: Sendable {
    static let cooldown = Duration.seconds(30)
    static let memory = Duration.seconds(60)
    static let capacity = 1024

    private var lastFetch: Instant?
    private var absent: [String: Instant] = [:]

    /// Whether to fetch for this name now; if so, the cooldown begins.
    mutating func mayFetch(_ id: String, at now: Instant) -> Bool {
        if let until = self.absent[id], now < until { return false }
        if let last = self.lastFetch, last <= now, now < last.advanced(by: UnknownKeyLimiter.cooldown) { return false }
        self.lastFetch = now
        return true
    }

    /// A fetch was made for this name and did not bring it.
    mutating func stillAbsent(_ id: String, at now: Instant) {
        if self.absent.count >= UnknownKeyLimiter.capacity {
            self.absent = self.absent.filter { now < $0.value }
        }
        guard self.absent.count < UnknownKeyLimiter.capacity else { return }
        self.absent[id] = now.advanced(by: UnknownKeyLimiter.memory)
    }
}
