// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Synchronization

/// Memory and descriptors as Linux tells them: cgroup v2 or v1, `/proc`.
///
/// With a bound of its own the process's resident memory counts, else the container's use against the container's bound, else
/// the resident memory against the machine's.
struct MachineVitals: VitalSigns {
    private let root: String

    /// Reads below a folder, which tests make.
    init(root: String = "") {
        self.root = root
    }

    func read(memoryLimit: Int64?) -> Vitals {
        var vitals = Vitals()
        vitals.descriptors = self.openDescriptors
        vitals.descriptorLimit = self.descriptorLimit
        if let memoryLimit {
            (vitals.memory, vitals.memoryLimit) = (self.resident, memoryLimit)
        } else if let group = self.groupMemory {
            (vitals.memory, vitals.memoryLimit) = group
        } else {
            (vitals.memory, vitals.memoryLimit) = (self.resident, self.machineMemory)
        }
        return vitals
    }

    /// The number of descriptors that may be open: the soft limit.
    var descriptorLimit: Int {
        let line = self.text("/proc/self/limits")?.split(separator: "\n").first { $0.hasPrefix("Max open files") }
        return line?.dropFirst("Max open files".count).split(separator: " ").first.flatMap { Int($0) } ?? 0
    }

    /// Linux 6.2 and later tell the number as the folder's size; counting the entries costs far more.
    private var openDescriptors: Int {
        let folder = self.root + "/proc/self/fd"
        let attributes = try? FileManager.default.attributesOfItem(atPath: folder)
        let size = (attributes?[.size] as? NSNumber)?.intValue ?? 0
        guard size == 0 || !self.root.isEmpty else { return size }
        return (try? FileManager.default.contentsOfDirectory(atPath: folder))?.count ?? 0
    }

    private var resident: Int64 {
        let fields = self.text("/proc/self/statm")?.split(separator: " ") ?? []
        return fields.count > 1 ? (Int64(fields[1]) ?? 0) * Int64(sysconf(Int32(_SC_PAGESIZE))) : 0
    }

    private var machineMemory: Int64 {
        let line = self.text("/proc/meminfo")?.split(separator: "\n").first { $0.hasPrefix("MemTotal:") }
        let told = line?.split(separator: " ").dropFirst().first.flatMap { Int64($0) }.map { $0 * 1024 }
        // Where `/proc` shows processes only, as with systemd's `ProcSubset=pid`, the kernel is asked.
        return told ?? Int64(sysconf(Int32(_SC_PHYS_PAGES))) * Int64(sysconf(Int32(_SC_PAGESIZE)))
    }

    /// Use and bound of the container; nil if it has no bound.
    private var groupMemory: (used: Int64, limit: Int64)? {
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

    private func newGroup(_ path: String) -> (used: Int64, limit: Int64)? {
        self.group(path, at: "/sys/fs/cgroup", "memory.current", "memory.max", inactive: "inactive_file ")
    }

    private func oldGroup(_ path: String) -> (used: Int64, limit: Int64)? {
        self.group(
            path,
            at: "/sys/fs/cgroup/memory",
            "memory.usage_in_bytes",
            "memory.limit_in_bytes",
            inactive: "total_inactive_file "
        )
    }

    /// Inside a container the group's own folder is mounted at the top, so that is looked at as well.
    ///
    /// Pages of files that nobody has used lately are given back before anything fails, so they do not count.
    private func group(
        _ path: String,
        at mount: String,
        _ usage: String,
        _ bound: String,
        inactive: String
    ) -> (used: Int64, limit: Int64)? {
        for folder in [mount + path, mount] {
            let file: (String) -> String? = {
                self.text("\(folder)/\($0)")?.trimmingCharacters(in: .whitespacesAndNewlines)
            }
            guard let used = file(usage).flatMap({ Int64($0) }) else { continue }
            guard let limit = file(bound).flatMap({ Int64($0) }), limit < 1 << 60 else { continue }
            let line = file("memory.stat")?.split(separator: "\n").first { $0.hasPrefix(inactive) }
            let cache = line.flatMap { Int64($0.dropFirst(inactive.count)) } ?? 0
            return (max(0, used - cache), limit)
        }
        return nil
    }

    private func text(_ path: String) -> String? {
        try? String(contentsOfFile: self.root + path, encoding: .utf8)
    }
}
