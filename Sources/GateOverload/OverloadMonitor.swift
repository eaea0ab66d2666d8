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
        /// The overload level.
        package internal(set) var level = OverloadLevel.normal
        /// The resource usage.
        package internal(set) var usage = ResourceUsage()
        /// How much of the scarcest is used.
        package internal(set) var share = 0.0
    }

    private struct State {
        var machine = OverloadMachine()
        var reading = Reading()
    }

    /// The least memory for what comes on top of what the process uses at its start.
    static let memoryForRequests: Int64 = 16 << 20

    private let signs: any ResourceUsageSource
    private let atStart = Mutex(ResourceUsage())
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
        let usage = self.signs.read(memoryLimit: .max)
        self.atStart.withLock { $0 = usage }
    }

    /// The bytes of memory that the process used before its first client.
    package var memoryAtStart: Int64 { self.atStart.withLock { $0.memory } }

    /// The file descriptors that were open before its first client.
    package var openDescriptors: Int { self.atStart.withLock { $0.descriptors } }

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
        var usage = self.signs.read(memoryLimit: limits.memory)
        (usage.memoryAtStart, usage.descriptorsAtStart) = self.atStart.withLock { ($0.memory, $0.descriptors) }
        if usage.memoryLimit > 0 { usage.memoryLimit = max(usage.memoryLimit, self.minMemory) }
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
}
