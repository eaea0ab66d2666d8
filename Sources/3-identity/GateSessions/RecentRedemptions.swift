// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import Synchronization

/// When this process has given the tokens for the latest codes, so that a code which a client sends several times at once is not taken
/// for one that is used again.
final class RecentRedemptions: Sendable {
    private static let capacity = 4096

    private struct Redemption {
        let expires: Instant
        /// How many requests have the code now.
        var pending = 0
        /// When the tokens of the first use were there, by `WallClock.milliseconds`; nil before, and if that is another gateway.
        var ended: Int64?
    }

    private let table = Mutex<[String: Redemption]>([:])

    /// Takes note of a request with a code.
    func begin(_ code: AuthorizationCode, now: Instant) {
        self.table.withLock { table in
            if table.count >= RecentRedemptions.capacity { table = table.filter { now < $0.value.expires } }
            // What is forgotten counts as ended long ago.
            if table.count >= RecentRedemptions.capacity { table.removeAll() }
            table[code.id, default: Redemption(expires: code.expires)].pending += 1
        }
    }

    /// Takes note that a request has ended.
    ///
    /// - Parameters:
    ///   - code: The code.
    ///   - milliseconds: The time, if it has led to tokens; nil if not.
    func end(_ code: AuthorizationCode, withTokensAt milliseconds: Int64?) {
        self.table.withLock { table in
            guard var known = table[code.id] else { return }
            known.pending -= 1
            known.ended = milliseconds ?? known.ended
            table[code.id] = known.pending > 0 || known.ended != nil ? known : nil
        }
    }

    /// Whether a request that arrived at a time did so while another one had its code.
    func overlaps(_ code: AuthorizationCode, arrival milliseconds: Int64) -> Bool {
        self.table.withLock { table in
            guard let known = table[code.id] else { return false }
            return known.ended.map { milliseconds < $0 } ?? (known.pending > 1)
        }
    }
}
