// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import GateCore
package import GateNet
internal import Synchronization

/// Memory and descriptors as Linux reports them: cgroup v2 or v1, `/proc`.
///
/// With a bound of its own the process's memory counts, else the container's use against the container's bound, else the
/// process's memory against the machine's. Pages of files do not count: the kernel takes them back before an allocation
/// fails. The limits are cached for a few seconds: reading them takes most of the time.
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
        /// The entries of `memory.stat` that the kernel takes back before an allocation fails.
        let reclaimable: [Substring]
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
        (usage.anonymous, usage.filePages) = self.resident
        usage.memory = self.used(of: bounds.memory) ?? usage.anonymous
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

    /// What the container uses of what it cannot take back; nil where the process counts alone.
    private func used(of place: MemoryPlace) -> Int64? {
        guard case .container(let container, _) = place, let used = self.number(container.folder, container.usage)
        else {
            return nil
        }
        var left = used
        for line in self.text("\(container.folder)/memory.stat")?.split(separator: "\n") ?? [] {
            let parts = line.split(separator: " ")
            guard parts.count == 2, container.reclaimable.contains(parts[0]), let bytes = Int64(parts[1]) else {
                continue
            }
            left -= min(max(0, bytes), left)
        }
        return left
    }

    /// What the allocator of this process has given out and what it keeps.
    package var allocator: AllocatorUsage { Allocator.usage }

    /// Returns freed memory to the kernel.
    package func trim() { Allocator.trim() }

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

    /// The resident pages of the process: those that belong to no file, and those of files and shared memory.
    private var resident: (anonymous: Int64, file: Int64) {
        let fields = self.text("/proc/self/statm")?.split(separator: " ") ?? []
        guard fields.count > 2 else { return (0, 0) }
        let page = Int64(sysconf(Int32(_SC_PAGESIZE)))
        let (all, shared) = (self.count(fields[1]) * page, self.count(fields[2]) * page)
        return (max(0, all - shared), shared)
    }

    private var machineMemory: Int64 {
        let line = self.text("/proc/meminfo")?.split(separator: "\n").first { $0.hasPrefix("MemTotal:") }
        let text = line?.split(separator: " ").dropFirst().first.map { 1024 * self.count($0) }
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
        self.group(
            path,
            at: "/sys/fs/cgroup",
            "memory.current",
            "memory.max",
            reclaimable: ["inactive_file", "active_file", "slab_reclaimable"]
        )
    }

    private func oldGroup(_ path: String) -> MemoryPlace? {
        self.group(
            path,
            at: "/sys/fs/cgroup/memory",
            "memory.usage_in_bytes",
            "memory.limit_in_bytes",
            reclaimable: ["total_inactive_file", "total_active_file"]
        )
    }

    /// Inside a container the group's own folder is mounted at the top, so that is looked at as well.
    private func group(
        _ path: String,
        at mount: String,
        _ usage: String,
        _ bound: String,
        reclaimable: [Substring]
    ) -> MemoryPlace? {
        for folder in [mount + path, mount] where self.number(folder, usage) != nil {
            guard let limit = self.number(folder, bound), limit < 1 << 60 else { continue }
            return .container(Container(folder: folder, usage: usage, reclaimable: reclaimable), limit: limit)
        }
        return nil
    }

    /// A count of pages or KiB, small enough to be multiplied by their size.
    private func count(_ text: Substring) -> Int64 { min(max(0, Int64(text) ?? 0), 1 << 40) }

    private func number(_ folder: String, _ name: String) -> Int64? {
        self.text("\(folder)/\(name)").flatMap { Int64($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
            .map { min(max(0, $0), 1 << 60) }
    }

    private func text(_ path: String) -> String? {
        try? String(contentsOfFile: self.root + path, encoding: .utf8)
    }
}
