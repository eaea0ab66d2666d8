// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import Synchronization

/// Why a connection was not taken.
package enum AcceptFailure: String, Sendable, CaseIterable {
    /// The process or the system has no file descriptor left: `EMFILE`, `ENFILE`.
    case descriptors
    /// The kernel has no memory for it: `ENOBUFS`, `ENOMEM`.
    case memory
    /// As many connections are open as may be.
    case connections
    /// As many of one client address are open as may be.
    case perAddress = "per_address"
    /// A balancer sent no proper PROXY header.
    case proxyHeader = "proxy_header"
    /// Accepting failed for another reason.
    case other
}

/// Counts open connections, all together and by client, and turns away what is over the bounds.
///
/// Used once when a connection opens and once when it closes, by all event loops; the counts by client are spread over
/// locks.
package final class ConnectionGate: Sendable {
    /// How many connections may be open.
    package struct Bounds: Sendable {
        /// All together.
        package var connections = 10_000
        /// Of one client; 0 for no bound.
        package var perAddress = 256
        /// Networks whose connections are not counted by client, because they come for many.
        package var exempt: [AddressRange] = []

        /// The defaults.
        package init() {}
    }

    /// A place of one client, to be given back.
    package struct Claim: Sendable {
        fileprivate let client: ClientNetwork?
    }

    private final class Shard: Sendable {
        let counts = Mutex<[ClientNetwork: Int]>([:])
    }

    private let bounds: Mutex<Bounds>
    private let inside = Atomic<Int>(0)
    private let shards = (0..<16).map { _ in Shard() }
    private let refused: @Sendable (AcceptFailure) -> Void

    /// A gate with bounds, which tells `refused` of each connection that was not taken.
    package init(_ bounds: Bounds, refused: @escaping @Sendable (AcceptFailure) -> Void = { _ in }) {
        self.bounds = Mutex(bounds)
        self.refused = refused
    }

    /// Other bounds, for the connections that come from now on.
    package func update(_ bounds: Bounds) {
        self.bounds.withLock { $0 = bounds }
    }

    /// How many connections are open.
    package var count: Int { self.inside.load(ordering: .relaxed) }

    /// How many may be.
    package var limit: Int { self.bounds.withLock { $0.connections } }

    /// Notes that a connection was not taken.
    package func note(_ failure: AcceptFailure) { self.refused(failure) }

    /// Whether one more connection may be open; if so it is counted until ``leave()``.
    package func enter() -> Bool {
        guard self.inside.add(1, ordering: .relaxed).newValue <= self.limit else {
            self.leave()
            self.refused(.connections)
            return false
        }
        return true
    }

    /// Takes one off the count.
    package func leave() { self.inside.subtract(1, ordering: .relaxed) }

    /// A place for a client, counted until ``release(_:)``; nil if it has as many connections as it may have.
    package func claim(_ address: IPAddress?) -> Claim? {
        let bounds = self.bounds.withLock { $0 }
        guard let address, bounds.perAddress > 0, !bounds.exempt.contains(where: { $0.contains(address) }) else {
            return Claim(client: nil)
        }
        let client = ClientNetwork(of: address)
        let isIn = self.shard(of: client).counts.withLock { counts in
            guard counts[client, default: 0] < bounds.perAddress else { return false }
            counts[client, default: 0] += 1
            return true
        }
        guard isIn else {
            self.refused(.perAddress)
            return nil
        }
        return Claim(client: client)
    }

    /// Gives a place back.
    package func release(_ claim: Claim) {
        guard let client = claim.client else { return }
        self.shard(of: client).counts.withLock { counts in
            let left = counts[client, default: 1] - 1
            counts[client] = left > 0 ? left : nil
        }
    }

    private func shard(of client: ClientNetwork) -> Shard {
        self.shards[Int(truncatingIfNeeded: UInt(bitPattern: client.hashValue) % 16)]
    }
}
