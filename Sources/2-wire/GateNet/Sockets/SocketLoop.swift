// SPDX-License-Identifier: Apache-2.0

internal import CEventPoll
package import Dispatch
internal import Foundation
internal import Glibc
package import NIOCore
internal import Synchronization

/// An event loop over epoll with its own thread.
///
/// It does what NIOPosix does for streams, in fewer steps: a socket is registered with one system call for all its
/// life, and bytes pass between it and its handlers without a lock, an allocation or a further system call.
package final class SocketLoop: EventLoop, @unchecked Sendable {
    /// A task; in a structure, since a closure that is put into an array of closures is boxed once more.
    private struct Work {
        let run: () -> Void
    }

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
    /// Whether the inbox has tasks; spares the lock in a turn without.
    private let hasArrivals = Atomic<Bool>(false)
    private let ids = Atomic<UInt64>(0)
    /// Set by the thread itself, before the loop is shared.
    private var thread = pthread_t()

    // The following is confined to the thread.
    private var tasks: [Work] = []
    private var running: [Work] = []
    private var timers = TimerQueue()
    private var slots: [Slot] = []
    private var freeSlots: [Int] = []
    private var unread: [SocketChannel] = []
    private var ending: (() -> Void)?
    /// The buffer for the next read, if the last reader has released it.
    var readBuffer = ByteBuffer()

    private init() throws(SocketError) {
        self.poll = try EventPoll()
        self.wakeDescriptor = try SocketError.check("eventfd") { eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK)) }
        try self.poll.watch(self.wakeDescriptor, for: [.readable, .edges], key: SocketLoop.wakeKey)
    }

    deinit {
        Glibc.close(self.wakeDescriptor)
    }

    /// Starts a loop on a new thread.
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
        thread.stackSize = 8 << 20
        thread.start()
        // Takes effect on a thread that exists only.
        thread.name = name
        started.wait()
        return loop
    }

    private func run() {
        while self.ending == nil || !self.tasks.isEmpty {
            let count = self.poll.wait(milliseconds: self.waitTime())
            // Tasks that other threads submitted before a peer's bytes arrived run before those bytes are read: a
            // revoked session is forgotten before the client's next request.
            self.takeInbox()
            self.runTasks()
            self.poll.report(count) { key, readiness in self.dispatch(key, readiness) }
            self.continueReading()
            self.runTasks()
            self.runTimers()
        }
        // Tasks submitted before the end still run; later ones are dropped.
        self.takeInbox()
        self.runTasks()
        for work in self.timers.removeAll() { work(false) }
        self.runTasks()
        self.ending?()
    }

    /// How long the loop may wait.
    private func waitTime() -> Int32 {
        guard self.tasks.isEmpty, self.unread.isEmpty else { return 0 }
        guard let deadline = self.timers.nextDeadline else { return -1 }
        let left = (deadline - .now()).nanoseconds
        return left <= 0 ? 0 : Int32(min((left + 999_999) / 1_000_000, 60_000))
    }

    private func dispatch(_ key: UInt64, _ readiness: Readiness) {
        // Each write is a new edge, so the counter need not be read; eventfd(2).
        guard key != SocketLoop.wakeKey else { return }
        let index = Int(key & 0xFFFF_FFFF)
        guard index < self.slots.count, self.slots[index].generation == UInt32(key >> 32) else { return }
        self.slots[index].watched?.ready(readiness)
    }

    private func takeInbox() {
        guard self.hasArrivals.load(ordering: .acquiring) else { return }
        let arrived = self.inbox.withLock { inbox in
            inbox.isWoken = false
            self.hasArrivals.store(false, ordering: .relaxed)
            return Swift.exchange(&inbox.tasks, with: [])
        }
        for task in arrived { self.tasks.append(Work(run: task)) }
    }

    /// Continues the channels that have more to read, each once.
    private func continueReading() {
        guard !self.unread.isEmpty else { return }
        let channels = self.unread
        self.unread = []
        for channel in channels { channel.continueReading() }
    }

    /// Runs the tasks of this turn, and those that they add, up to a limit.
    private func runTasks() {
        for _ in 0..<64 {
            guard !self.tasks.isEmpty else { return }
            swap(&self.tasks, &self.running)
            for index in self.running.indices { self.running[index].run() }
            self.running.removeAll(keepingCapacity: true)
        }
    }

    private func runTimers() {
        guard let next = self.timers.nextDeadline else { return }
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

    /// Stops watching a descriptor; events that were already reported are dropped.
    func forget(_ descriptor: Int32, key: UInt64) {
        self.poll.forget(descriptor)
        let index = Int(key & 0xFFFF_FFFF)
        self.slots[index].watched = nil
        self.slots[index].generation &+= 1
        self.freeSlots.append(index)
    }

    /// An empty buffer for a read: that of the last read, unless it is still referenced.
    func takeReadBuffer(atLeast size: Int) -> ByteBuffer {
        var memory = ByteBuffer()
        swap(&memory, &self.readBuffer)
        memory.clear(minimumCapacity: size)
        return memory
    }

    /// Lets a channel read in the next turn.
    func readLater(to channel: SocketChannel) {
        self.unread.append(channel)
    }
}

// MARK: EventLoop

extension SocketLoop {
    /// Whether the caller runs on the loop's thread.
    package var inEventLoop: Bool { pthread_equal(pthread_self(), self.thread) != 0 }

    /// Runs a task on the loop, in this turn if the caller is on it.
    package func execute(_ task: @escaping @Sendable () -> Void) {
        guard !self.inEventLoop else {
            self.tasks.append(Work(run: task))
            return
        }
        let mustWake = self.inbox.withLock { inbox in
            guard !inbox.isClosed else { return false }
            inbox.tasks.append(task)
            self.hasArrivals.store(true, ordering: .releasing)
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

    /// Runs a task on the loop and returns its result.
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

    /// Runs a task at a deadline.
    @discardableResult
    package func scheduleTask<Value>(
        deadline: NIODeadline,
        _ task: @escaping @Sendable () throws -> Value
    ) -> Scheduled<Value> {
        let promise = self.makePromise(of: Value.self)
        let id = self.ids.wrappingAdd(1, ordering: .relaxed).newValue
        self.runOnLoop {
            self.timers.insert(id, at: deadline) { isDue in
                guard isDue else { return promise.fail(EventLoopError.shutdown) }
                do {
                    try promise.assumeIsolated().succeed(task())
                } catch {
                    promise.fail(error)
                }
            }
        }
        return Scheduled(promise: promise) { self.runOnLoop { self.timers.cancel(id) } }
    }

    /// Runs a task after a delay.
    @discardableResult
    package func scheduleTask<Value>(
        in delay: TimeAmount,
        _ task: @escaping @Sendable () throws -> Value
    ) -> Scheduled<Value> {
        self.scheduleTask(deadline: .now() + delay, task)
    }

    private func runOnLoop(_ body: @escaping @Sendable () -> Void) {
        if self.inEventLoop { body() } else { self.execute(body) }
    }

    /// The loop itself: it is not part of a group.
    package func next() -> any EventLoop { self }

    /// The loop itself: it is not part of a group.
    package func any() -> any EventLoop { self }

    /// The loop itself: it is not part of a group.
    package func makeIterator() -> EventLoopIterator { EventLoopIterator([self]) }

    /// Shuts down: everything that the loop watches is closed, and its thread ends.
    package func shutdownGracefully(queue: DispatchQueue, _ callback: @escaping @Sendable ((any Error)?) -> Void) {
        self.execute {
            for slot in self.slots { slot.watched?.loopWillClose() }
            self.inbox.withLock { $0.isClosed = true }
            self.ending = { queue.async { callback(nil) } }
        }
    }

    /// Traps when code off the loop calls what only the loop may.
    package func preconditionInEventLoop(file: StaticString, line: UInt) {
        precondition(self.inEventLoop, file: file, line: line)
    }

    /// Traps when the loop calls what it must not.
    package func preconditionNotInEventLoop(file: StaticString, line: UInt) {
        precondition(!self.inEventLoop, file: file, line: line)
    }

    /// Traps when the loop would wait for its own shutdown.
    package func _preconditionSafeToSyncShutdown(file: StaticString, line: UInt) {
        self.preconditionNotInEventLoop(file: file, line: line)
    }
}
