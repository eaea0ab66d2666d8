// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Tells every cache in this process that the sessions of a family have ended.
///
/// A body is called on the thread that ends the session, before the store is asked to forget it and before the user gets
/// a response; it has to pass the news on to its own event loop and return.
package final class RevocationFeed: Sendable {
    private struct State {
        var bodies: [Int: @Sendable ([UInt8]) -> Void] = [:]
        var next = 0
    }

    private let state = Mutex(State())

    /// A feed that nobody listens to yet.
    package init() {}

    /// Calls `body` with the family key of every family that ends from now on.
    ///
    /// - Parameter body: What passes the news on.
    /// - Returns: What ``unsubscribe(_:)`` takes.
    @discardableResult
    package func subscribe(_ body: @escaping @Sendable ([UInt8]) -> Void) -> Int {
        self.state.withLock { state in
            state.next += 1
            state.bodies[state.next] = body
            return state.next
        }
    }

    /// Ends a subscription.
    package func unsubscribe(_ subscription: Int) {
        self.state.withLock { _ = $0.bodies.removeValue(forKey: subscription) }
    }

    /// Tells all subscribers; they are called outside the lock, so they may subscribe and unsubscribe.
    package func publish(_ family: [UInt8]) {
        let bodies = self.state.withLock { Array($0.bodies.values) }
        for body in bodies {
            body(family)
        }
    }
}
