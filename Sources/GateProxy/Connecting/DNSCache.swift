// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
package import NIOCore
internal import Synchronization

/// The addresses of the names of upstreams, for all event loops.
///
/// A name is asked for by one thread of its own at a time, so a look-up that hangs delays nobody else's. What was found
/// last stays in use as long as nothing newer is known.
package final class DNSCache: Sendable {
    /// Asks for the addresses of a host; blocks; empty means that there is no answer.
    package typealias Question = @Sendable (String) -> [IPBytes]

    /// How long a connection waits for newer addresses before it takes those known.
    private static let patience = TimeAmount.seconds(1)

    private struct Entry {
        var addresses: [IPBytes] = []
        var freshUntil = NIODeadline.uptimeNanoseconds(0)
        var isAsking = false
        var waiting: [EventLoopPromise<[IPBytes]>] = []
    }

    private let ask: Question
    private let entries = Mutex<[String: Entry]>([:])

    /// A directory that asks the system's resolver, or whoever a test names.
    package init(_ ask: Question? = nil) {
        self.ask = ask ?? { SystemResolver.addresses(of: $0) }
    }

    /// The addresses of a host; empty if none is known and none can be found.
    ///
    /// - Parameters:
    ///   - host: The name.
    ///   - lifetime: How long an answer is believed.
    ///   - loop: Where the answer is wanted.
    /// - Returns: The addresses, at once if they are known; never a failure.
    package func addresses(
        of host: String,
        lifetime: TimeAmount,
        on loop: any EventLoop
    ) -> EventLoopFuture<[IPBytes]> {
        let waiting = loop.makePromise(of: [IPBytes].self)
        let (known, isFresh, mustAsk) = self.entries.withLock { entries -> ([IPBytes], Bool, Bool) in
            var entry = entries[host] ?? Entry()
            guard NIODeadline.now() >= entry.freshUntil else { return (entry.addresses, true, false) }
            let mustAsk = !entry.isAsking
            entry.isAsking = true
            entry.waiting.append(waiting)
            entries[host] = entry
            return (entry.addresses, false, mustAsk)
        }
        if isFresh { waiting.succeed(known) }
        if mustAsk { self.question(host, lifetime) }
        guard !isFresh, !known.isEmpty else { return waiting.futureResult }
        // What is known is better than a look-up that does not end.
        return DNSCache.first(of: waiting.futureResult, or: known, on: loop)
    }

    /// Asks on a thread of its own.
    private func question(_ host: String, _ lifetime: TimeAmount) {
        DispatchQueue(label: "gatehouse.name").async {
            let found = self.ask(host)
            let (addresses, waiting) = self.entries.withLock { entries in
                var entry = entries[host] ?? Entry()
                if !found.isEmpty { entry.addresses = found }
                // After a failure the next connection asks again, but not every one of a thousand.
                entry.freshUntil = .now() + (found.isEmpty ? min(lifetime, .seconds(1)) : lifetime)
                let waiting = entry.waiting
                entry.isAsking = false
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
        of answer: EventLoopFuture<[IPBytes]>,
        or known: [IPBytes],
        on loop: any EventLoop
    ) -> EventLoopFuture<[IPBytes]> {
        let promise = loop.makePromise(of: [IPBytes].self)
        let timer = loop.scheduleTask(in: DNSCache.patience) { promise.succeed(known) }
        answer.whenSuccess { addresses in
            timer.cancel()
            promise.succeed(addresses)
        }
        return promise.futureResult
    }
}
