// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import GateCore

/// The thread and the clock of a ``MailQueue``; a test has one that it moves by hand.
package protocol MailScheduler: Sendable {
    /// The time now.
    var now: ContinuousClock.Instant { get }
    /// Runs work on the sending thread, which may block; in order, one at a time.
    func send(after delay: Duration, _ work: @escaping @Sendable () -> Void)
    /// Runs short work on time, even while the sending thread is blocked.
    func notify(after delay: Duration, _ work: @escaping @Sendable () -> Void)
}

/// A thread of its own, which is neither an event loop's nor of the cooperative pool.
package final class MailThread: MailScheduler {
    private let thread = DispatchQueue(label: "gatehouse.mail")

    /// Creates a thread that waits for work.
    package init() {}

    /// The time now.
    package var now: ContinuousClock.Instant { .now }

    /// Runs work on the thread.
    package func send(after delay: Duration, _ work: @escaping @Sendable () -> Void) {
        guard delay > .zero else { return self.thread.async(execute: work) }
        self.thread.asyncAfter(deadline: .now() + delay.interval, execute: work)
    }

    /// Runs work on any other thread.
    package func notify(after delay: Duration, _ work: @escaping @Sendable () -> Void) {
        DispatchQueue.global().asyncAfter(deadline: .now() + delay.interval, execute: work)
    }
}

extension Duration {
    /// Milliseconds, rounded up, so that a timer does not fire too early.
    fileprivate var interval: DispatchTimeInterval {
        .milliseconds(Int(self.wholeMilliseconds) + 1)
    }
}
