// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import Synchronization

/// Slows down the guessing of passwords and codes, without a lock that an attacker could put on the account of another.
///
/// Two limits hold for each account. From one source, a client network or a known device, five attempts are free; then each
/// one has to wait twice as long as the one before. From all client networks together 20 attempts are free, and 20 more come
/// each hour. A known device, from which the user has signed in before, is not part of the second one, so that guesses from
/// elsewhere do not stop it. All of it is in memory, of bounded size, and each gateway counts by itself.
package final class PasswordThrottle: Sendable {
    /// Where an attempt comes from.
    package enum Source: Sendable, Hashable {
        /// A client network.
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
    /// After which time without an attempt a source begins again.
    private static let memory = Duration.seconds(3600)
    /// After which time one more attempt from all networks is free.
    private static let step = Duration.seconds(3600) / PasswordThrottle.hourlyAttempts

    private struct Key: Hashable {
        let account: [UInt8]
        let source: Source
    }

    private struct Attempts {
        var count = 0
        var last = Duration.zero
        var open = Duration.zero
    }

    private struct State {
        var attempts: BoundedTable<Key, Attempts>
        /// When all attempts from all networks will be free again.
        var accounts: BoundedTable<[UInt8], Duration>

        /// Takes one attempt off the count of all networks.
        mutating func refund(_ account: [UInt8], _ source: Source) {
            guard !source.isDevice, let full = self.accounts[account] else { return }
            self.accounts[account] = full - PasswordThrottle.step
        }
    }

    private let state: Mutex<State>
    private let began: ContinuousClock.Instant
    private let clock: @Sendable () -> ContinuousClock.Instant

    /// A throttle that remembers at most `capacity` sources and accounts.
    package init(capacity: Int = 65_536, clock: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        self.state = Mutex(State(attempts: BoundedTable(capacity), accounts: BoundedTable(capacity)))
        self.clock = clock
        self.began = clock()
    }

    /// Lets an attempt begin, which counts until ``succeeded(_:from:)`` or ``withdrawn(_:from:)``.
    ///
    /// - Parameters:
    ///   - account: The account, or a hash of a name without an account.
    ///   - source: Where the attempt comes from.
    /// - Returns: Nil if it may begin; else how long to wait.
    package func admit(_ account: [UInt8], from source: Source) -> Duration? {
        let now = self.began.duration(to: self.clock())
        let key = Key(account: account, source: source)
        return self.state.withLock { state in
            var attempts = state.attempts[key] ?? Attempts()
            if now - attempts.last > PasswordThrottle.memory { attempts = Attempts() }
            if attempts.open > now { return attempts.open - now }
            if !source.isDevice {
                let full = max(state.accounts[account] ?? now, now)
                let wait = full - now - PasswordThrottle.step * (PasswordThrottle.hourlyAttempts - 1)
                guard wait <= .zero else { return wait }
                state.accounts[account] = full + PasswordThrottle.step
            }
            attempts.count += 1
            attempts.last = now
            let over = attempts.count - PasswordThrottle.freeAttempts
            if over >= 0 { attempts.open = now + min(.seconds(1 << min(over, 20)), source.maxWait) }
            state.attempts[key] = attempts
            return nil
        }
    }

    /// Forgets the attempts from a source, since the last one was right, and takes that one off the count of all networks.
    package func succeeded(_ account: [UInt8], from source: Source) {
        self.state.withLock { state in
            state.attempts[Key(account: account, source: source)] = nil
            state.refund(account, source)
        }
    }

    /// Takes back one attempt of a source that led to no look at a password; the others still count.
    package func withdrawn(_ account: [UInt8], from source: Source) {
        let key = Key(account: account, source: source)
        self.state.withLock { state in
            state.refund(account, source)
            guard var attempts = state.attempts[key] else { return }
            attempts.count -= 1
            // It was admitted, so the wait before it is over.
            attempts.open = .zero
            state.attempts[key] = attempts.count > 0 ? attempts : nil
        }
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
