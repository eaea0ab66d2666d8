// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Something with an absolute deadline that an event loop watches.
package protocol Expiring: AnyObject {
    /// When to call ``expire()``; `.distantFuture` for never.
    var deadline: NIODeadline { get }
    /// Called on the loop once the deadline has passed; must set another deadline or end the matter.
    func expire()
}

/// Watches the deadlines of all connections of one event loop; confined to that loop.
///
/// A look at every connection four times a second costs less than a timer for each request, and no request pays for it.
package final class DeadlineSweep {
    /// How late a deadline may be noticed.
    package static let interval = TimeAmount.milliseconds(250)
    private var members: [ObjectIdentifier: any Expiring] = [:]
    private var task: RepeatedTask?

    /// A sweep that has not started.
    package init() {}

    /// Starts the sweep on the loop that owns it.
    package func start(on loop: any EventLoop) {
        let bound = NIOLoopBound(self, eventLoop: loop)
        self.task = loop.scheduleRepeatedTask(initialDelay: Self.interval, delay: Self.interval) { _ in
            bound.value.sweep(at: .now())
        }
    }

    /// Ends the sweep and lets go of everything.
    package func stop() {
        self.task?.cancel()
        self.members.removeAll()
    }

    /// How many are watched.
    package var count: Int { self.members.count }

    /// Watches one more.
    package func add(_ member: any Expiring) {
        self.members[ObjectIdentifier(member)] = member
    }

    /// Watches it no longer.
    package func remove(_ member: any Expiring) {
        self.members[ObjectIdentifier(member)] = nil
    }

    /// Calls whoever's deadline has passed.
    package func sweep(at now: NIODeadline) {
        for member in self.members.values where member.deadline <= now {
            member.expire()
        }
    }

    /// Calls `body` for each of a type, such as to drain them.
    package func forEach<Member>(_ type: Member.Type, _ body: (Member) -> Void) {
        for case let member as Member in self.members.values {
            body(member)
        }
    }
}
