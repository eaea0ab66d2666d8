// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import Synchronization

/// Bounds how often sign-ins on other devices begin, how often codes are tried, and how often clients ask; shared by all event
/// loops of a process.
///
/// RFC 8628 §5.1 and §5.2: of 20^8 codes, a hundred of them valid, ten wrong ones in a minute find one in 48 years. Only signed-in
/// users can try any, so they are counted by user and by client network: none stops the others.
package final class DeviceLimiter: Sendable {
    /// How long a client waits between two requests.
    ///
    /// RFC 8628 §3.5.
    package static let interval = Duration.seconds(5)
    /// How many sign-ins may begin in a minute for one client network.
    package static let beginsPerClient = 30
    /// How many sign-ins may begin in a minute in all, which bounds what they take of the store.
    package static let begins = 6000
    /// How many wrong codes one user, and one client network, may try in a minute.
    package static let attempts = 10
    /// How much earlier than after the interval a request may arrive, since networks take different times.
    private static let tolerance = Duration.seconds(1)
    private static let maxInterval = Duration.seconds(60)
    private static let capacity = 16_384

    private struct Table {
        var beginsPerClient = RateLimiter<ClientNetwork>(capacity: DeviceLimiter.capacity)
        var begins = RateLimiter<Bool>(capacity: 2)
        /// When each device last asked, and how long it has to wait.
        var polls: [String: (last: Duration, interval: Duration)] = [:]
    }

    private let table = Mutex(Table())
    private let networks: AttemptLimiter<ClientNetwork>
    private let users: AttemptLimiter<String>
    private let elapsed: @Sendable () -> Duration

    /// A limiter that has counted nothing.
    package convenience init() {
        let began = ContinuousClock.now
        self.init { began.duration(to: .now) }
    }

    /// A limiter with its own clock.
    init(elapsed: @escaping @Sendable () -> Duration) {
        self.elapsed = elapsed
        self.networks = AttemptLimiter(capacity: DeviceLimiter.capacity, elapsed: elapsed)
        self.users = AttemptLimiter(capacity: DeviceLimiter.capacity, elapsed: elapsed)
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

    /// A code that is tried.
    package struct CodeAttempt: Sendable {
        fileprivate let ofNetwork: AttemptLimiter<ClientNetwork>.Attempt
        fileprivate let ofUser: AttemptLimiter<String>.Attempt

        /// Takes it off the counts: a sign-in has the code.
        package func release() {
            self.ofNetwork.release()
            self.ofUser.release()
        }
    }

    /// Lets a user try a code, which counts as wrong until it is released; nil if there were too many.
    package func attempt(by user: String, from client: IPAddress?) -> CodeAttempt? {
        let rate = TokenBucket.Rate(perMinute: DeviceLimiter.attempts)
        guard let ofNetwork = try? self.networks.begin(client.map { ClientNetwork(of: $0) }, within: rate) else {
            return nil
        }
        guard let ofUser = try? self.users.begin(user, within: rate) else {
            ofNetwork.release()
            return nil
        }
        return CodeAttempt(ofNetwork: ofNetwork, ofUser: ofUser)
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
