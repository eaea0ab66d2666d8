// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Glibc

// What the process may use, asked once at its start.
extension MachineResourceUsage {
    /// Raises the soft limit of file descriptors to the hard one and returns it.
    ///
    /// The soft limit is low for the sake of programs that use select(2), which nothing here does. Where the calls are
    /// forbidden, as by systemd's `SystemCallFilter=~@resources`, `/proc` has the limit.
    package static func raisedDescriptorLimit() -> Int {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard unsafe getrlimit(resource, &limit) == 0 else { return MachineResourceUsage().descriptorLimit }
        let soft = limit.rlim_cur
        limit.rlim_cur = limit.rlim_max
        let isRaised = unsafe setrlimit(resource, &limit) == 0
        return Int(clamping: isRaised ? limit.rlim_max : soft)
    }

    /// How many event loops to run: one for each processor the process is allowed, at least one.
    ///
    /// The number that Foundation knows ignores the affinity that `taskset`, systemd and container runtimes set.
    package static var allowedProcessors: Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("Cpus_allowed_list:") }
        return line.map { self.processors(inList: String($0.dropFirst(18))) }
            ?? ProcessInfo.processInfo.activeProcessorCount
    }

    /// The number of processors in a list such as `0-3,8`; at least one.
    static func processors(inList list: String) -> Int {
        let counts = list.trimmingCharacters(in: .whitespaces).split(separator: ",").map { range in
            let ends = range.split(separator: "-").compactMap { Int($0) }
            guard let first = ends.first, let last = ends.last, last >= first else { return 0 }
            return last - first + 1
        }
        return max(1, counts.reduce(0, +))
    }
}
