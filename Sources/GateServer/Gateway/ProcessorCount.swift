// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// The processors this process may run on.
enum ProcessorCount {
    /// How many event loops to run: one for each processor the process is allowed, at least one.
    ///
    /// The number that Foundation knows ignores the affinity that `taskset`, systemd and container runtimes set.
    static var allowed: Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("Cpus_allowed_list:") }
        return line.map { self.count(inList: String($0.dropFirst(18))) } ?? ProcessInfo.processInfo.activeProcessorCount
    }

    /// The number of processors in a list such as `0-3,8`; at least one.
    static func count(inList list: String) -> Int {
        let counts = list.trimmingCharacters(in: .whitespaces).split(separator: ",").map { range in
            let ends = range.split(separator: "-").compactMap { Int($0) }
            guard let first = ends.first, let last = ends.last, last >= first else { return 0 }
            return last - first + 1
        }
        return max(1, counts.reduce(0, +))
    }
}
