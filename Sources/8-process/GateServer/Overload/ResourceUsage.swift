// SPDX-License-Identifier: Apache-2.0

package import GateNet
package import NIOCore

/// How much the gateway uses of what it may use, at one moment.
package struct ResourceUsage: Sendable, Equatable {
    /// Bytes of memory in use: what the kernel could not take back without the process losing data.
    package internal(set) var memory: Int64 = 0
    /// Bytes of memory that may be used; 0 if unknown.
    package internal(set) var memoryLimit: Int64 = 0
    /// Bytes of memory that the process used before its first client; what comes on top of it is what counts.
    package internal(set) var memoryAtStart: Int64 = 0
    /// Bytes of memory that belong to no file; they are a part of ``memory``.
    package internal(set) var anonymous: Int64 = 0
    /// Bytes of resident pages of files, mostly of the program itself, which the kernel takes back when it needs them.
    package internal(set) var filePages: Int64 = 0
    /// Open file descriptors.
    package internal(set) var descriptors = 0
    /// File descriptors that were open before the first client; what comes on top of them is what counts.
    package internal(set) var descriptorsAtStart = 0
    /// How many may be open; 0 if unknown.
    package internal(set) var descriptorLimit = 0
    /// Requests in flight.
    package internal(set) var requests = 0
    /// How many may be in flight.
    package internal(set) var requestLimit = 0
    /// How late the slowest event loop is, the one worst turn of a hundred aside.
    package internal(set) var lag = TimeAmount.zero

    /// How many of the descriptors that were free at the start are open, 1 for all of them.
    package var descriptorShare: Double {
        guard self.descriptorLimit > 0 else { return 0 }
        return Double(max(0, self.descriptors - self.descriptorsAtStart))
            / Double(max(1, self.descriptorLimit - self.descriptorsAtStart))
    }

    /// How much of the memory that was free at the start is in use, 1 for all of it.
    package var memoryShare: Double {
        guard self.memoryLimit > 0 else { return 0 }
        let free = self.memoryLimit - self.memoryAtStart
        return Double(max(0, self.memory - self.memoryAtStart)) / Double(max(1, free))
    }

    /// How much of the scarcest is used, 1 for all of it.
    ///
    /// Lag and requests in flight count at most up to the level that rejects new sign-ins: closing connections would cause
    /// more work, and requests have their own limit.
    package var share: Double {
        let part: (Double, Double) -> Double = { $1 > 0 ? $0 / $1 : 0 }
        let hard = max(self.memoryShare, self.descriptorShare)
        let threshold = OverloadLevel.noSignIns.threshold
        let lag = part(Double(self.lag.nanoseconds), Double(LoopLagProbe.overloadLag.nanoseconds)) * threshold
        let requests = part(Double(self.requests), Double(self.requestLimit))
        return max(hard, min(max(lag, requests), OverloadLevel.closing.threshold - 0.01))
    }
}

/// Where resource usage is read; a protocol for tests.
package protocol ResourceUsageSource: Sendable {
    /// Memory and descriptors now.
    ///
    /// - Parameter memoryLimit: The bound for memory, nil for what the container or machine grants.
    /// - Returns: What is used, and what may be.
    func read(memoryLimit: Int64?) -> ResourceUsage

    /// What the allocator has given out and what it keeps; costs more than ``read(memoryLimit:)``.
    var allocator: AllocatorUsage { get }

    /// Returns freed memory to the kernel; takes milliseconds.
    func trim()
}
