// SPDX-License-Identifier: Apache-2.0

internal import CEventPoll
internal import Glibc

/// What the kernel reports about a descriptor.
struct Readiness: OptionSet {
    let rawValue: UInt32

    /// Bytes can be read, or connections accepted.
    static let readable = Readiness(rawValue: 0x001)
    /// Bytes can be written.
    static let writable = Readiness(rawValue: 0x004)
    /// The descriptor has failed.
    static let failed = Readiness(rawValue: 0x008)
    /// Both directions are closed.
    static let hungUp = Readiness(rawValue: 0x010)
    /// The peer has closed its sending side.
    static let readHungUp = Readiness(rawValue: 0x2000)
    /// Of several polls that watch a descriptor, only one is woken.
    static let exclusive = Readiness(rawValue: 1 << 28)
    /// Only changes are reported (edge-triggered), so a descriptor is registered once.
    static let edges = Readiness(rawValue: 1 << 31)
}

/// Watches descriptors; epoll(7).
@safe
final class EventPoll {
    private static let capacity = 256

    private let descriptor: Int32
    private let events: UnsafeMutableBufferPointer<epoll_event>

    /// Opens a poll.
    ///
    /// - Throws: A ``SocketError`` when the process has no descriptor left.
    init() throws(SocketError) {
        self.descriptor = try SocketError.check("epoll_create1") { epoll_create1(Int32(EPOLL_CLOEXEC)) }
        unsafe self.events = .allocate(capacity: EventPoll.capacity)
        unsafe self.events.initialize(repeating: epoll_event())
    }

    deinit {
        unsafe self.events.deallocate()
        Glibc.close(self.descriptor)
    }

    /// Watches a descriptor, whose events are reported with `key`.
    func watch(_ socket: Int32, for interest: Readiness, key: UInt64) throws(SocketError) {
        var event = unsafe epoll_event(events: interest.rawValue, data: epoll_data_t(u64: key))
        let poll = self.descriptor
        try SocketError.check("epoll_ctl") { unsafe epoll_ctl(poll, EPOLL_CTL_ADD, socket, &event) }
    }

    /// Stops watching a descriptor.
    func forget(_ socket: Int32) {
        var event = unsafe epoll_event()
        _ = unsafe epoll_ctl(self.descriptor, EPOLL_CTL_DEL, socket, &event)
    }

    /// Waits for events, for `milliseconds` at most (-1: no limit).
    ///
    /// - Returns: The number of events, for ``report(_:_:)``.
    func wait(milliseconds: Int32) -> Int {
        let count = unsafe epoll_wait(
            self.descriptor,
            self.events.baseAddress,
            Int32(EventPoll.capacity),
            milliseconds
        )
        return max(0, Int(count))
    }

    /// Reports the events of the last ``wait(milliseconds:)``.
    func report(_ count: Int, _ body: (_ key: UInt64, _ readiness: Readiness) -> Void) {
        for index in 0..<count {
            let event = unsafe self.events[index]
            unsafe body(event.data.u64, Readiness(rawValue: event.events))
        }
    }
}
