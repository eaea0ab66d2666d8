// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import Synchronization

/// Slows down the guessing of passwords and codes, without a lock that an attacker could put on the account of another.
///
/// Two limits hold for each name that is typed. From one source, a client network or a known device, five attempts are free; then
/// each one has to wait twice as long as the one before. From all client networks together 20 attempts are free, and 20 more come
/// each hour. A known device, from which the user has signed in before, is not part of the second one, so that guesses from
/// elsewhere do not stop it. All of it is in memory, of bounded size, and each gateway counts by itself.
///
/// What is counted under is the name, whether or not an account has it, so that no limit shows which names have accounts. An
/// account has two names at most, an email address and a user name, so the total for an account is bounded as well.
package final class PasswordThrottle: Sendable {
    /// Where an attempt comes from.
    package enum Source: Sendable, Hashable {
        case network(ClientNetwork)
        /// A client whose IP is unknown.
        case unknown
        /// A device from which the user has signed in before.
        case device([UInt8])

        fileprivate var isDevice: Bool {
            guard case .device = self else { return false }
            return true
        }

        /// The longest wait: short for a device, whose owner waits.
        fileprivate var maxWait: Duration { self.isDevice ? .seconds(30) : .seconds(900) }
    }

    /// The number of attempts without a wait.
    package static let freeAttempts = 5
    /// The number of attempts an hour from all networks.
    package static let hourlyAttempts = 20
    private static let hourly = TokenBucket.Rate(hourlyAttempts, in: .seconds(3600), burst: hourlyAttempts)
    /// After which time without an attempt a source begins again.
    private static let memory = Duration.seconds(3600)

    fileprivate struct Key: Hashable {
        let name: [UInt8]
        let source: Source
    }

    private struct Attempts {
        var count = 0
        var last = Duration.zero
        var open = Duration.zero
    }

    private let sources: Mutex<BoundedTable<Key, Attempts>>
    private let total: AttemptLimiter<[UInt8]>
    private let elapsed: @Sendable () -> Duration

    /// A throttle that remembers at most `capacity` sources and names.
    package init(capacity: Int = 65_536, clock: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        let began = clock()
        self.elapsed = { began.duration(to: clock()) }
        self.sources = Mutex(BoundedTable(capacity))
        self.total = AttemptLimiter(capacity: capacity, elapsed: self.elapsed)
    }

    /// An attempt that has begun, which counts as failed until it has succeeded or is withdrawn.
    package struct Attempt: Sendable {
        fileprivate let throttle: PasswordThrottle
        fileprivate let key: Key
        fileprivate let ofTotal: AttemptLimiter<[UInt8]>.Attempt

        /// Forgets the attempts from its source, since it was right, and takes it off the count of all networks.
        package func succeeded() {
            self.ofTotal.release()
            self.throttle.sources.withLock { $0[self.key] = nil }
        }

        /// Takes it back, since no password was looked at; the others of its source still count.
        package func withdrawn() {
            self.ofTotal.release()
            self.throttle.sources.withLock { sources in
                guard var attempts = sources[self.key] else { return }
                attempts.count -= 1
                // It was admitted, so the wait before it is over.
                attempts.open = .zero
                sources[self.key] = attempts.count > 0 ? attempts : nil
            }
        }
    }

    /// Lets an attempt begin.
    ///
    /// - Parameters:
    ///   - name: A hash of the name that was typed.
    ///   - source: Where the attempt comes from.
    /// - Returns: The attempt.
    /// - Throws: How long to wait.
    package func begin(_ name: [UInt8], from source: Source) throws(TooManyAttempts) -> Attempt {
        let now = self.elapsed()
        let key = Key(name: name, source: source)
        let ofTotal = try self.sources.withLock { sources throws(TooManyAttempts) in
            var attempts = sources[key] ?? Attempts()
            if now - attempts.last > PasswordThrottle.memory { attempts = Attempts() }
            guard attempts.open <= now else { throw TooManyAttempts(wait: attempts.open - now) }
            let ofTotal = try self.total.begin(source.isDevice ? nil : name, within: PasswordThrottle.hourly)
            attempts.count += 1
            attempts.last = now
            let over = attempts.count - PasswordThrottle.freeAttempts
            if over >= 0 { attempts.open = now + min(.seconds(1 << min(over, 20)), source.maxWait) }
            sources[key] = attempts
            return ofTotal
        }
        return Attempt(throttle: self, key: key, ofTotal: ofTotal)
    }
}

/// A dictionary of bounded size: when the younger half is full, the older one is dropped.
private struct BoundedTable<Key: Hashable, Value> {
    private let half: Int
    private var young: [Key: Value] = [:]
    private var old: [Key: Value] = [:]

    init(_ capacity: Int) {
        self.half = max(1, capacity / 2)
    }

    subscript(key: Key) -> Value? {
        get { self.young[key] ?? self.old[key] }
        set {
            self.old[key] = nil
            if newValue != nil, self.young.count >= self.half, self.young[key] == nil {
                self.old = self.young
                self.young = [:]
            }
            self.young[key] = newValue
        }
    }
}
