// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import Synchronization

/// Bounds how often sign-ins on other devices begin, how often codes are tried, and how often clients ask; shared by all event
/// loops of a process.
///
/// RFC 8628 §5.1 and §5.2: of 20^8 codes, a hundred of them valid, 30 wrong ones in a minute find one in 16 years.
package final class DeviceLimiter: Sendable {
    /// How long a client waits between two requests.
    ///
    /// RFC 8628 §3.5.
    package static let interval = Duration.seconds(5)
    /// How many sign-ins may begin in a minute for one client network.
    package static let beginsPerClient = 30
    /// How many sign-ins may begin in a minute in all.
    package static let begins = 600
    /// How many codes one client network may try in a minute.
    package static let attemptsPerClient = 10
    /// How many wrong codes may be tried in a minute in all.
    package static let attempts = 30
    /// How much earlier than after the interval a request may arrive, since networks take different times.
    private static let tolerance = Duration.seconds(1)
    private static let maxInterval = Duration.seconds(60)
    private static let capacity = 16_384

    private struct Table {
        var beginsPerClient = RateLimiter<ClientNetwork>(capacity: DeviceLimiter.capacity)
        var begins = RateLimiter<Bool>(capacity: 2)
        var attemptsPerClient = RateLimiter<ClientNetwork>(capacity: DeviceLimiter.capacity)
        var attempts = RateLimiter<Bool>(capacity: 2)
        /// When each device last asked, and how long it has to wait.
        var polls: [String: (last: Duration, interval: Duration)] = [:]
    }

    private let table = Mutex(Table())
    private let elapsed: @Sendable () -> Duration

    /// A limiter that has counted nothing.
    package convenience init() {
        let began = ContinuousClock.now
        self.init { began.duration(to: .now) }
    }

    /// A limiter with its own clock.
    init(elapsed: @escaping @Sendable () -> Duration) {
        self.elapsed = elapsed
    }

    /// Whether a sign-in may begin.
    package func admitsBegin(from client: IPAddress?) -> Bool {
        let now = self.elapsed()
        return self.table.withLock { table in
            if let client {
                let network = ClientNetwork(of: client)
                guard table.beginsPerClient.take(network, perMinute: DeviceLimiter.beginsPerClient, at: now) == nil
                else { return false }
            }
            return table.begins.take(true, perMinute: DeviceLimiter.begins, at: now) == nil
        }
    }

    /// Whether a code may be tried.
    package func admitsAttempt(from client: IPAddress?) -> Bool {
        let now = self.elapsed()
        return self.table.withLock { table in
            guard table.attempts.wait(of: true, perMinute: DeviceLimiter.attempts, at: now) == nil else { return false }
            guard let client else { return true }
            let network = ClientNetwork(of: client)
            return table.attemptsPerClient.take(network, perMinute: DeviceLimiter.attemptsPerClient, at: now) == nil
        }
    }

    /// Takes note of a code that no sign-in has.
    package func attemptFailed() {
        let now = self.elapsed()
        _ = self.table.withLock { $0.attempts.take(true, perMinute: DeviceLimiter.attempts, at: now) }
    }

    /// Whether the client of a sign-in has waited long enough; if not, it has to wait five seconds longer from now on.
    ///
    /// RFC 8628 §3.5.
    package func admitsPoll(of id: String) -> Bool {
        let now = self.elapsed()
        return self.table.withLock { table in
            let known = table.polls[id]
            if known == nil, table.polls.count >= DeviceLimiter.capacity {
                table.polls = table.polls.filter { now - $0.value.last < DeviceAuthorization.lifetime }
                if table.polls.count >= DeviceLimiter.capacity { table.polls.removeAll() }
            }
            guard let known, now - known.last < known.interval - DeviceLimiter.tolerance else {
                table.polls[id] = (now, known?.interval ?? DeviceLimiter.interval)
                return true
            }
            table.polls[id] = (now, min(known.interval + DeviceLimiter.interval, DeviceLimiter.maxInterval))
            return false
        }
    }
}
