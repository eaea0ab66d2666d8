// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Notifies the caches in this process that the sessions of a family have ended or changed.
///
/// A subscriber is called on the thread that ends the session, both before the store removes it and after that, and before the
/// user gets a response, or after a change is in the store; it must forward the notification to its own event loop and return.
package final class RevocationFeed: Sendable {
    private let subscribers = Mutex<[@Sendable ([UInt8]) -> Void]>([])
    private let changeSubscribers = Mutex<[@Sendable ([UInt8]) -> Void]>([])

    /// A feed without subscribers.
    package init() {}

    /// Calls `body` with the key of every family that ends from now on.
    package func subscribe(_ body: @escaping @Sendable ([UInt8]) -> Void) {
        self.subscribers.withLock { $0.append(body) }
    }

    /// Calls all subscribers, outside the lock, so that they may subscribe others.
    package func publish(_ family: [UInt8]) {
        for subscriber in self.subscribers.withLock({ $0 }) { subscriber(family) }
    }

    /// Calls `body` with the key of every family whose sessions change from now on and go on.
    package func subscribeToChanges(_ body: @escaping @Sendable ([UInt8]) -> Void) {
        self.changeSubscribers.withLock { $0.append(body) }
    }

    /// Calls all subscribers to changes, outside the lock.
    package func publishChange(_ family: [UInt8]) {
        for subscriber in self.changeSubscribers.withLock({ $0 }) { subscriber(family) }
    }
}
