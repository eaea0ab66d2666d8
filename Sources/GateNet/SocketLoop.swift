// SPDX-License-Identifier: Apache-2.0

internal import CEventPoll
package import Dispatch
internal import Foundation
internal import Glibc
package import NIOCore
internal import Synchronization

/// An event loop with a thread of its own, over epoll.
///
/// It does what `NIOPosix` does for streams, in fewer steps: a socket is watched with one system call for all its life,
/// and bytes pass between it and its handlers without a lock, an allocation or a second look at the kernel.
package final class SocketLoop: EventLoop, @unchecked Sendable {
    private struct Inbox {
        var tasks: [@Sendable () -> Void] = []
        var isWoken = false
        var isClosed = false
    }

    private struct Slot {
        var generation: UInt32 = 0
        var watched: (any ReadinessHandler)?
    }

    /// The key of the descriptor that wakes the loop.
    private static let wakeKey = UInt64.max

    private let poll: EventPoll
    private let wakeDescriptor: Int32
    private let inbox = Mutex(Inbox())
    private let ids = Atomic<UInt64>(0)
    /// Set by the thread itself, before anybody else has the loop.
    private var thread = pthread_t()

    // What follows is confined to the thread.
    private var tasks: [() -> Void] = []
    private var running: [() -> Void] = []
    private var timers = TimerQueue()
    private var slots: [Slot] = []
    private var freeSlots: [Int] = []
    private var unread: [SocketChannel] = []
    private var ending: (() -> Void)?
    /// Memory that the next read goes to, if the last reader has let go of it.
    var readMemory = ByteBuffer()

    private init() throws(SocketError) {
        self.poll = try EventPoll()
        self.wakeDescriptor = try SocketError.check("eventfd") { eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK)) }
        try self.poll.watch(self.wakeDescriptor, for: [.readable, .edges], key: SocketLoop.wakeKey)
    }

    deinit {
        Glibc.close(self.wakeDescriptor)
    }

    /// Starts a loop on a thread of its own.
    ///
    /// - Throws: When the process has no descriptor left.
    package static func start(named name: String) throws(SocketError) -> SocketLoop {
        let loop = try SocketLoop()
        let started = DispatchSemaphore(value: 0)
        let thread = Thread {
            loop.thread = pthread_self()
            started.signal()
            loop.run()
        }
        thread.name = name
        thread.stackSize = 8 << 20
        thread.start()
        started.wait()
        return loop
    }

    private func run() {
        while self.ending == nil || !self.tasks.isEmpty {
            let count = self.poll.wait(milliseconds: self.patience())
            // What other threads asked for before a peer's bytes came is done before those are read: a session that has
            // ended is forgotten before the next request of whoever was told so.
            self.takeInbox()
            self.runTasks()
            self.poll.report(count) { key, readiness in self.dispatch(key, readiness) }
            self.readOn()
            self.runTasks()
            self.runTimers()
        }
        // Whoever came before the end is served; nobody comes after it.
        self.takeInbox()
        self.runTasks()
        for work in self.timers.removeAll() { work(false) }
        self.runTasks()
        self.ending?()
    }

    /// How long nothing need be done.
    private func patience() -> Int32 {
        guard self.tasks.isEmpty, self.unread.isEmpty else { return 0 }
        guard let deadline = self.timers.nextDeadline() else { return -1 }
        let left = (deadline - .now()).nanoseconds
        return left <= 0 ? 0 : Int32(min((left + 999_999) / 1_000_000, 60_000))
    }

    private func dispatch(_ key: UInt64, _ readiness: Readiness) {
        // Each write to it is an event of its own: the number that it holds need not be taken away, see eventfd(2).
        guard key != SocketLoop.wakeKey else { return }
        let index = Int(key & 0xFFFF_FFFF)
        guard index < self.slots.count, self.slots[index].generation == UInt32(key >> 32) else { return }
        self.slots[index].watched?.ready(readiness)
    }

    private func takeInbox() {
        let arrived = self.inbox.withLock { inbox in
            inbox.isWoken = false
            defer { if !inbox.tasks.isEmpty { inbox.tasks = [] } }
            return inbox.tasks
        }
        for task in arrived { self.tasks.append(task) }
    }

    /// Lets those read on who left something unread, each once.
    private func readOn() {
        guard !self.unread.isEmpty else { return }
        let channels = self.unread
        self.unread = []
        for channel in channels { channel.readOn() }
    }

    /// Runs what was to be run in this turn; what that adds belongs to this turn as well, within bounds.
    private func runTasks() {
        for _ in 0..<64 {
            guard !self.tasks.isEmpty else { return }
            swap(&self.tasks, &self.running)
            for task in self.running { task() }
            self.running.removeAll(keepingCapacity: true)
        }
    }

    private func runTimers() {
        guard let next = self.timers.nextDeadline() else { return }
        let now = NIODeadline.now()
        guard next <= now else { return }
        while let work = self.timers.due(at: now) { work(true) }
    }
}

// MARK: Watching

extension SocketLoop {
    /// Watches a descriptor until ``forget(_:key:)``.
    func watch(
        _ descriptor: Int32,
        for interest: Readiness,
        _ watched: any ReadinessHandler
    ) throws(SocketError) -> UInt64 {
        let index = self.freeSlots.popLast() ?? self.slots.count
        if index == self.slots.count { self.slots.append(Slot()) }
        let key = UInt64(self.slots[index].generation) << 32 | UInt64(index)
        do {
            try self.poll.watch(descriptor, for: interest, key: key)
        } catch {
            self.freeSlots.append(index)
            throw error
        }
        self.slots[index].watched = watched
        return key
    }

    /// Watches a descriptor no longer; events of it that were reported already are dropped.
    func forget(_ descriptor: Int32, key: UInt64) {
        self.poll.forget(descriptor)
        let index = Int(key & 0xFFFF_FFFF)
        self.slots[index].watched = nil
        self.slots[index].generation &+= 1
        self.freeSlots.append(index)
    }

    /// Empty memory for a read: that of the last read, unless somebody still holds it.
    func takeReadMemory(atLeast size: Int) -> ByteBuffer {
        var memory = ByteBuffer()
        swap(&memory, &self.readMemory)
        memory.clear(minimumCapacity: size)
        return memory
    }

    /// Calls the channel in the next turn: it has more to read.
    func comeBack(to channel: SocketChannel) {
        self.unread.append(channel)
    }
}

// MARK: EventLoop

extension SocketLoop {
    /// Whether the caller runs on the loop's thread.
    package var inEventLoop: Bool { pthread_equal(pthread_self(), self.thread) != 0 }

    /// Runs something on the loop, in this turn if the caller is on it.
    package func execute(_ task: @escaping @Sendable () -> Void) {
        guard !self.inEventLoop else {
            self.tasks.append(task)
            return
        }
        let mustWake = self.inbox.withLock { inbox in
            guard !inbox.isClosed else { return false }
            inbox.tasks.append(task)
            guard !inbox.isWoken else { return false }
            inbox.isWoken = true
            return true
        }
        if mustWake { self.wake() }
    }

    private func wake() {
        var one: UInt64 = 1
        _ = unsafe Glibc.write(self.wakeDescriptor, &one, 8)
    }

    /// Runs something on the loop and tells what became of it.
    package func submit<Value>(_ task: @escaping @Sendable () throws -> Value) -> EventLoopFuture<Value> {
        let promise = self.makePromise(of: Value.self)
        self.execute {
            do {
                try promise.assumeIsolated().succeed(task())
            } catch {
                promise.fail(error)
            }
        }
        return promise.futureResult
    }

    /// Runs something at a time.
    @discardableResult
    package func scheduleTask<Value>(
        deadline: NIODeadline,
        _ task: @escaping @Sendable () throws -> Value
    ) -> Scheduled<Value> {
        let promise = self.makePromise(of: Value.self)
        let id = self.ids.wrappingAdd(1, ordering: .relaxed).newValue
        self.soon {
            self.timers.insert(id, at: deadline) { isDue in
                guard isDue else { return promise.fail(EventLoopError.shutdown) }
                do {
                    try promise.assumeIsolated().succeed(task())
                } catch {
                    promise.fail(error)
                }
            }
        }
        return Scheduled(promise: promise) { self.soon { self.timers.cancel(id) } }
    }

    /// Runs something after a while.
    @discardableResult
    package func scheduleTask<Value>(
        in delay: TimeAmount,
        _ task: @escaping @Sendable () throws -> Value
    ) -> Scheduled<Value> {
        self.scheduleTask(deadline: .now() + delay, task)
    }

    private func soon(_ body: @escaping @Sendable () -> Void) {
        if self.inEventLoop { body() } else { self.execute(body) }
    }

    /// The loop is the only one of its group.
    package func next() -> any EventLoop { self }

    /// The loop is the only one of its group.
    package func any() -> any EventLoop { self }

    /// The loop is the only one of its group.
    package func makeIterator() -> EventLoopIterator { EventLoopIterator([self]) }

    /// Ends the loop: all that it watches is closed, its thread ends.
    package func shutdownGracefully(queue: DispatchQueue, _ callback: @escaping @Sendable ((any Error)?) -> Void) {
        self.execute {
            for slot in self.slots { slot.watched?.loopEnds() }
            self.inbox.withLock { $0.isClosed = true }
            self.ending = { queue.async { callback(nil) } }
        }
    }

    /// Stops the process when somebody else calls what only the loop may.
    package func preconditionInEventLoop(file: StaticString, line: UInt) {
        precondition(self.inEventLoop, file: file, line: line)
    }

    /// Stops the process when the loop calls what it must not.
    package func preconditionNotInEventLoop(file: StaticString, line: UInt) {
        precondition(!self.inEventLoop, file: file, line: line)
    }

    /// Nobody waits for the loop to end without awaiting it.
    package func _preconditionSafeToSyncShutdown(file: StaticString, line: UInt) {
        self.preconditionNotInEventLoop(file: file, line: line)
    }
}
