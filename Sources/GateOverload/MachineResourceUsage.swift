// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import GateCore
internal import Synchronization

/// Memory and descriptors as Linux reports them: cgroup v2 or v1, `/proc`.
///
/// With a bound of its own the process's resident memory counts, else the container's use against the container's bound, else
/// the resident memory against the machine's. The limits are cached for a few seconds: reading them takes most of
/// the time.
package final class MachineResourceUsage: ResourceUsageSource {
    /// Where memory usage is read, and the limit.
    private enum MemoryPlace {
        case process(limit: Int64)
        case container(Container, limit: Int64)

        var limit: Int64 {
            switch self {
            case .process(let limit), .container(_, let limit): limit
            }
        }
    }

    /// The folder of a container, and how its files are named.
    private struct Container {
        let folder: String
        let usage: String
        let inactive: String
    }

    private struct Bounds {
        let memoryLimit: Int64?
        let memory: MemoryPlace
        let descriptors: Int
        let until: ContinuousClock.Instant
    }

    private static let cacheTime = Duration.seconds(5)

    private let root: String
    private let bounds = Mutex<Bounds?>(nil)

    /// Reads below a folder, which tests make.
    package init(root: String = "") {
        self.root = root
    }

    /// Reads it now; memory beyond the limit counts as overload, nil for the limit of the container or machine.
    package func read(memoryLimit: Int64?) -> ResourceUsage {
        let bounds = self.bounds(memoryLimit)
        var usage = ResourceUsage()
        usage.descriptors = self.openDescriptors
        usage.descriptorLimit = bounds.descriptors
        usage.memory = self.used(of: bounds.memory)
        usage.memoryLimit = bounds.memory.limit
        return usage
    }

    private func bounds(_ memoryLimit: Int64?) -> Bounds {
        self.bounds.withLock { known in
            if let known, known.memoryLimit == memoryLimit, ContinuousClock.now < known.until { return known }
            let fresh = Bounds(
                memoryLimit: memoryLimit,
                memory: memoryLimit.map { .process(limit: $0) } ?? self.container
                    ?? .process(limit: self.machineMemory),
                descriptors: self.descriptorLimit,
                until: .now + MachineResourceUsage.cacheTime
            )
            // Without a descriptor left nothing can be read: what was known before holds, and the next look tries again.
            guard fresh.descriptors > 0 else { return known ?? fresh }
            known = fresh
            return fresh
        }
    }

    private func used(of place: MemoryPlace) -> Int64 {
        guard case .container(let container, _) = place, let used = self.number(container.folder, container.usage)
        else {
            return self.resident
        }
        // Inactive pages of files are reclaimed before any allocation fails, so they do not count.
        let text = self.text("\(container.folder)/memory.stat")
        let line = text?.split(separator: "\n").first { $0.hasPrefix(container.inactive) }
        return max(0, used - (line.flatMap { Int64($0.dropFirst(container.inactive.count)) } ?? 0))
    }

    /// The number of descriptors that may be open: the soft limit.
    var descriptorLimit: Int {
        let line = self.text("/proc/self/limits")?.split(separator: "\n").first { $0.hasPrefix("Max open files") }
        return line?.dropFirst("Max open files".count).split(separator: " ").first.flatMap { Int($0) } ?? 0
    }

    /// Linux 6.2 and later report the number as the folder's size; counting the entries costs far more.
    private var openDescriptors: Int {
        let folder = self.root + "/proc/self/fd"
        let size = PrivateFile.state(of: folder)?.size ?? 0
        guard size == 0 || !self.root.isEmpty else { return size }
        return (try? FileManager.default.contentsOfDirectory(atPath: folder))?.count ?? 0
    }

    private var resident: Int64 {
        let fields = self.text("/proc/self/statm")?.split(separator: " ") ?? []
        return fields.count > 1 ? (Int64(fields[1]) ?? 0) * Int64(sysconf(Int32(_SC_PAGESIZE))) : 0
    }

    private var machineMemory: Int64 {
        let line = self.text("/proc/meminfo")?.split(separator: "\n").first { $0.hasPrefix("MemTotal:") }
        let text = line?.split(separator: " ").dropFirst().first.flatMap { Int64($0) }.map { $0 * 1024 }
        // Where `/proc` shows processes only, as with systemd's `ProcSubset=pid`, the kernel is asked.
        return text ?? Int64(sysconf(Int32(_SC_PHYS_PAGES))) * Int64(sysconf(Int32(_SC_PAGESIZE)))
    }

    /// The container and its bound; nil if it has none.
    private var container: MemoryPlace? {
        for line in self.text("/proc/self/cgroup")?.split(separator: "\n") ?? [] {
            let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3 else { continue }
            if parts[1].isEmpty, let found = self.newGroup(String(parts[2])) { return found }
            if parts[1].split(separator: ",").contains("memory"), let found = self.oldGroup(String(parts[2])) {
                return found
            }
        }
        return nil
    }

    private func newGroup(_ path: String) -> MemoryPlace? {
        self.group(path, at: "/sys/fs/cgroup", "memory.current", "memory.max", inactive: "inactive_file ")
    }

    private func oldGroup(_ path: String) -> MemoryPlace? {
        self.group(
            path,
            at: "/sys/fs/cgroup/memory",
            "memory.usage_in_bytes",
            "memory.limit_in_bytes",
            inactive: "total_inactive_file "
        )
    }

    /// Inside a container the group's own folder is mounted at the top, so that is looked at as well.
    private func group(
        _ path: String,
        at mount: String,
        _ usage: String,
        _ bound: String,
        inactive: String
    ) -> MemoryPlace? {
        for folder in [mount + path, mount] where self.number(folder, usage) != nil {
            guard let limit = self.number(folder, bound), limit < 1 << 60 else { continue }
            return .container(Container(folder: folder, usage: usage, inactive: inactive), limit: limit)
        }
        return nil
    }

    private func number(_ folder: String, _ name: String) -> Int64? {
        self.text("\(folder)/\(name)").flatMap { Int64($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
    }

    private func text(_ path: String) -> String? {
        try? String(contentsOfFile: self.root + path, encoding: .utf8)
    }
}
