// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
package import GateCore
package import NIOCore
internal import Synchronization

/// Caches the addresses of upstream names for all event loops.
///
/// Each lookup has its own thread, one per name at a time, so that a hanging lookup delays no other name. The last
/// known addresses stay in use until newer ones are known.
package final class DNSCache: Sendable {
    /// How long a connection waits for newer addresses before it uses the known ones.
    private static let maxWait = TimeAmount.seconds(1)

    private struct Entry {
        var addresses: [IPAddress] = []
        var freshUntil = NIODeadline.uptimeNanoseconds(0)
        var isLookingUp = false
        var waiting: [EventLoopPromise<[IPAddress]>] = []
    }

    /// Looks up the addresses of a host; blocks; empty if the lookup fails.
    private let lookUp: @Sendable (String) -> [IPAddress]
    private let entries = Mutex<[String: Entry]>([:])

    /// A cache over the system's resolver, or over another lookup in tests.
    package init(_ lookUp: (@Sendable (String) -> [IPAddress])? = nil) {
        self.lookUp = lookUp ?? { DNSCache.resolved($0) }
    }

    /// The addresses of a host; empty if none are known and the lookup fails.
    ///
    /// - Parameters:
    ///   - host: The name.
    ///   - lifetime: The TTL of the addresses.
    ///   - loop: The loop of the result.
    /// - Returns: The addresses, immediately if they are known; never a failure.
    package func addresses(
        of host: String,
        lifetime: TimeAmount,
        on loop: any EventLoop
    ) -> EventLoopFuture<[IPAddress]> {
        let waiting = loop.makePromise(of: [IPAddress].self)
        let (known, isFresh, mustLookUp) = self.entries.withLock { entries -> ([IPAddress], Bool, Bool) in
            var entry = entries[host] ?? Entry()
            guard NIODeadline.now() >= entry.freshUntil else { return (entry.addresses, true, false) }
            let mustLookUp = !entry.isLookingUp
            entry.isLookingUp = true
            entry.waiting.append(waiting)
            entries[host] = entry
            return (entry.addresses, false, mustLookUp)
        }
        if isFresh { waiting.succeed(known) }
        if mustLookUp { self.startLookup(host, lifetime) }
        guard !isFresh, !known.isEmpty else { return waiting.futureResult }
        // Known addresses are better than a lookup that does not end.
        return DNSCache.first(of: waiting.futureResult, or: known, on: loop)
    }

    /// Looks a name up on a separate thread.
    private func startLookup(_ host: String, _ lifetime: TimeAmount) {
        DispatchQueue(label: "gatehouse.name").async {
            let found = self.lookUp(host)
            let (addresses, waiting) = self.entries.withLock { entries in
                var entry = entries[host] ?? Entry()
                if !found.isEmpty { entry.addresses = found }
                // After a failed lookup, retry once a second, not for each of a thousand connections.
                entry.freshUntil = .now() + (found.isEmpty ? min(lifetime, .seconds(1)) : lifetime)
                let waiting = entry.waiting
                entry.isLookingUp = false
                entry.waiting = []
                entries[host] = entry
                return (entry.addresses, waiting)
            }
            for promise in waiting {
                promise.succeed(addresses)
            }
        }
    }

    private static func first(
        of lookup: EventLoopFuture<[IPAddress]>,
        or known: [IPAddress],
        on loop: any EventLoop
    ) -> EventLoopFuture<[IPAddress]> {
        let promise = loop.makePromise(of: [IPAddress].self)
        let timer = loop.scheduleTask(in: DNSCache.maxWait) { promise.succeed(known) }
        lookup.whenSuccess { addresses in
            timer.cancel()
            promise.succeed(addresses)
        }
        return promise.futureResult
    }
}
