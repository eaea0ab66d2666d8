// SPDX-License-Identifier: Apache-2.0

package import GateConfiguration
internal import GateCore
package import GateNet
internal import NIOCore
internal import Synchronization

/// Reads the resource usage and keeps the overload level; called from outside the event loops.
package final class OverloadMonitor: Sendable {
    /// How often to read.
    package static let interval = Duration.milliseconds(250)

    /// The latest reading.
    package struct Reading: Sendable {
        package internal(set) var level = OverloadLevel.normal
        package internal(set) var usage = ResourceUsage()
        /// How much of the scarcest is used.
        package internal(set) var share = 0.0
    }

    private struct State {
        var machine = OverloadMachine()
        var reading = Reading()
        /// When freed memory was last returned to the kernel.
        var trimmedAt: ContinuousClock.Instant?
    }

    /// What the process used before its first client.
    private struct Start {
        var usage = ResourceUsage()
        var allocated: Int64 = 0
    }

    /// The share of memory from which freed memory is looked for: the level that begins at 80 % ends here.
    static let exactFrom = OverloadLevel.shorterIdle.threshold - OverloadMachine.hysteresis
    /// How much freed memory is worth returning to the kernel, and how often: it is faulted in again under load.
    static let worthTrimming: Int64 = 4 << 20
    /// The time between two such returns.
    static let trimInterval = Duration.seconds(5)

    /// The least memory for what comes on top of what the process uses at its start.
    static let memoryForRequests: Int64 = 16 << 20

    private let signs: any ResourceUsageSource
    private let atStart = Mutex(Start())
    private let state = Mutex(State())
    private let began = ContinuousClock.now

    /// A monitor of what a source reports.
    package init(signs: any ResourceUsageSource) {
        self.signs = signs
    }

    /// The latest reading.
    package var reading: Reading { self.state.withLock { $0.reading } }

    /// Notes what the process uses before its first client.
    package func begin() {
        var usage = self.signs.read(memoryLimit: .max)
        usage.memory += usage.filePages
        let start = Start(usage: usage, allocated: self.signs.allocator.allocated)
        self.atStart.withLock { $0 = start }
    }

    /// The bytes of memory that the process used before its first client.
    package var memoryAtStart: Int64 { self.atStart.withLock { $0.usage.memory } }

    /// The file descriptors that were open before its first client.
    package var openDescriptors: Int { self.atStart.withLock { $0.usage.descriptors } }

    /// The least limit of memory that holds; a lower one would reject every request for ever.
    package var minMemory: Int64 { self.memoryAtStart + OverloadMonitor.memoryForRequests }

    /// Reads once.
    ///
    /// - Parameters:
    ///   - loops: The lag of each event loop and its requests.
    ///   - limits: The bounds in force.
    ///   - now: The time of the reading.
    /// - Returns: The level before, and the reading.
    package func look(
        at loops: [LoopLagProbe],
        within limits: GatewayLimits,
        now: ContinuousClock.Instant = .now
    ) -> (before: OverloadLevel, reading: Reading) {
        let start = self.atStart.withLock { $0 }
        var usage = self.usage(within: limits, since: start)
        if usage.memoryShare >= OverloadMonitor.exactFrom { self.discountFreed(in: &usage, since: start, now: now) }
        usage.requests = loops.reduce(0) { $0 + $1.requests }
        usage.requestLimit = limits.requests
        let tick = NIODeadline.now()
        usage.lag = loops.map { $0.lag(at: tick) }.max() ?? .zero
        return self.state.withLock { state in
            let before = state.machine.level
            let level = state.machine.advance(to: usage.share, at: self.began.duration(to: now))
            state.reading = Reading(level: level, usage: usage, share: usage.share)
            return (before, state.reading)
        }
    }

    /// The usage as the kernel reports it.
    ///
    /// The pages of the program count as they were at the start, on both sides.
    private func usage(within limits: GatewayLimits, since start: Start) -> ResourceUsage {
        var usage = self.signs.read(memoryLimit: limits.memory)
        usage.memory += start.usage.filePages
        (usage.memoryAtStart, usage.descriptorsAtStart) = (start.usage.memory, start.usage.descriptors)
        if usage.memoryLimit > 0 { usage.memoryLimit = max(usage.memoryLimit, self.minMemory) }
        return usage
    }

    /// Leaves out memory that was freed and that the allocator keeps, so that a level ends when what caused it has ended.
    ///
    /// Whole pages of it go back to the kernel, which may need them; what remains are gaps between blocks in use.
    private func discountFreed(in usage: inout ResourceUsage, since start: Start, now: ContinuousClock.Instant) {
        let allocator = self.signs.allocator
        let grown = usage.anonymous - start.usage.anonymous
        let freed = min(allocator.free, max(0, grown - max(0, allocator.allocated - start.allocated)))
        usage.memory -= freed
        guard freed >= OverloadMonitor.worthTrimming else { return }
        let isDue = self.state.withLock { state in
            if let last = state.trimmedAt, now - last < OverloadMonitor.trimInterval { return false }
            state.trimmedAt = now
            return true
        }
        if isDue { self.signs.trim() }
    }
}
