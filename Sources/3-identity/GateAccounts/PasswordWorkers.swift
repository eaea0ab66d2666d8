// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
package import GateCore
internal import Synchronization

/// The threads that hash passwords, so that no event loop does.
///
/// What waits is bounded, and so is the memory: the threads times that of one hash.
package final class PasswordWorkers: Sendable {
    /// How many hashes wait at most, in addition to those in progress.
    package static let maxWaiting = 64
    /// How many of these are for one client network at most, so that it leaves places for others.
    package static let maxOfNetwork = 16

    private let queues: [DispatchQueue]
    private let next = Atomic<Int>(0)
    private let limiter: ConcurrencyLimiter
    /// What is in progress or waits, by the client network that it is for.
    private let networks = Mutex<[ClientNetwork: Int]>([:])
    private let random: RandomBytes
    private let cost: PasswordCost
    /// The hash that is verified where an account has none, so that the response takes as long.
    private let standIn: PasswordHash?

    /// Workers with `threads` threads.
    package init(
        threads: Int = 2,
        maxWaiting: Int = PasswordWorkers.maxWaiting,
        cost: PasswordCost = .standard,
        random: RandomBytes = .system
    ) {
        let count = max(1, threads)
        self.queues = (0..<count).map { DispatchQueue(label: "gatehouse.passwords.\($0)") }
        self.limiter = ConcurrencyLimiter(limit: count + maxWaiting)
        self.random = random
        self.cost = cost
        self.standIn = PasswordHash(
            phc: "$argon2id$v=19$m=\(cost.memory),t=\(cost.passes),p=\(cost.lanes)"
                + "$Z2F0ZWhvdXNlZ2F0ZWhvdQ$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
        )
    }

    /// How many hashes are in progress or wait.
    package var count: Int { self.limiter.count }

    /// The hash of a new password.
    ///
    /// - Parameters:
    ///   - password: The password.
    ///   - client: The IP of the client.
    /// - Returns: The hash.
    /// - Throws: `account.busy` if too many wait, or too many from there.
    package func hash(_ password: Secret, from client: IPAddress?) async throws(Failure) -> PasswordHash {
        let (salt, cost) = (self.random.bytes(16), self.cost)
        guard let hash = try await self.run(for: client, { Argon2.hash(password, salt: salt, cost: cost) }) else {
            throw Failure(.accountBusy, "libargon2 has no memory for a hash")
        }
        return hash
    }

    /// Whether a password is the one of a hash; without a hash it is not, which takes as long.
    ///
    /// - Parameters:
    ///   - password: The password.
    ///   - hash: The hash; nil for an account without a password, or none.
    ///   - client: The IP of the client.
    /// - Returns: Whether it is.
    /// - Throws: `account.busy` if too many wait, or too many from there.
    package func verify(
        _ password: Secret,
        _ hash: PasswordHash?,
        from client: IPAddress?
    ) async throws(Failure) -> Bool {
        guard let known = hash ?? self.standIn else { return false }
        guard let isSame = try await self.run(for: client, { Argon2.verify(password, known) }) else {
            throw Failure(.accountBusy, "libargon2 has no memory for a hash")
        }
        return isSame && hash != nil
    }

    private func acquire(_ network: ClientNetwork) -> Bool {
        self.networks.withLock { networks in
            let count = networks[network, default: 0]
            guard count < PasswordWorkers.maxOfNetwork else { return false }
            networks[network] = count + 1
            return true
        }
    }

    private func release(_ network: ClientNetwork) {
        self.networks.withLock { networks in
            let left = networks[network, default: 1] - 1
            networks[network] = left == 0 ? nil : left
        }
    }

    /// Whether a hash has another cost than new ones.
    package func isOutdated(_ hash: PasswordHash) -> Bool { hash.cost != self.cost }

    /// Runs blocking work on one of the threads.
    ///
    /// - Throws: `account.busy` if too many wait, or too many for the network of the client.
    func run<Value: Sendable>(
        for client: IPAddress?,
        _ work: @escaping @Sendable () -> Value
    ) async throws(Failure) -> Value {
        let network = client.map { ClientNetwork(of: $0) }
        guard network.map({ self.acquire($0) }) ?? true else {
            throw Failure(.accountBusy, "too many passwords from one client network wait")
        }
        defer { if let network { self.release(network) } }
        guard self.limiter.acquire() else {
            throw Failure(.accountBusy, "\(self.limiter.count) password hashes wait already")
        }
        let index = self.next.add(1, ordering: .relaxed).newValue
        let queue = self.queues[Int(truncatingIfNeeded: UInt(bitPattern: index) % UInt(self.queues.count))]
        return await withCheckedContinuation { continuation in
            queue.async {
                let value = work()
                self.limiter.release()
                continuation.resume(returning: value)
            }
        }
    }
}
