// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Something with an absolute deadline, watched by a ``DeadlineSweep``.
package protocol Expiring: AnyObject {
    /// When to call ``expire()``; `.distantFuture` for never.
    var deadline: NIODeadline { get }
    /// Called on the loop after the deadline; must set another deadline or close.
    func expire()
}

/// Watches the deadlines of all connections of one event loop; confined to that loop.
///
/// Scanning every connection four times a second costs less than a timer per request.
package final class DeadlineSweep {
    /// How late a deadline may be noticed.
    package static let interval = TimeAmount.milliseconds(250)
    private var members: [ObjectIdentifier: any Expiring] = [:]
    private var task: RepeatedTask?

    /// A sweep that has not been started.
    package init() {}

    /// Starts the sweep on the loop that owns it.
    package func start(on loop: any EventLoop) {
        let bound = NIOLoopBound(self, eventLoop: loop)
        self.task = loop.scheduleRepeatedTask(initialDelay: Self.interval, delay: Self.interval) { _ in
            bound.value.sweep(at: .now())
        }
    }

    /// Stops the sweep and releases all members.
    package func stop() {
        self.task?.cancel()
        self.members.removeAll()
    }

    package var count: Int { self.members.count }

    package func add(_ member: any Expiring) {
        self.members[ObjectIdentifier(member)] = member
    }

    package func remove(_ member: any Expiring) {
        self.members[ObjectIdentifier(member)] = nil
    }

    /// Expires all members whose deadline has passed.
    package func sweep(at now: NIODeadline) {
        for member in self.members.values where member.deadline <= now {
            member.expire()
        }
    }

    /// Calls `body` for each member of a type, for example to drain them.
    package func forEach<Member>(_ type: Member.Type, _ body: (Member) -> Void) {
        for case let member as Member in self.members.values {
            body(member)
        }
    }
}
