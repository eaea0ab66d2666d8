// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateConfiguration
import GateCore
import GateNet
import GateTestSupport
import Testing

@testable import GateServer

@Suite struct MachineResourceUsageTests {
    /// A machine whose files are these.
    private static func usage(_ files: [String: String], memoryLimit: Int64? = nil) throws -> ResourceUsage {
        let root = NSTemporaryDirectory() + "vitals-\(UInt64.random(in: 0 ... .max))"
        defer { try? FileManager.default.removeItem(atPath: root) }
        let common = [
            "/proc/self/limits":
                "Limit Soft Limit Hard Limit Units\nMax open files            1024                 4096       files\n",
            "/proc/self/statm": "1000 250 100 1 0 50 0\n", "/proc/meminfo": "MemTotal:        8000 kB\nMemFree: 1 kB\n",
            "/proc/self/fd/0": "", "/proc/self/fd/1": "", "/proc/self/fd/2": "",
        ]
        for (path, text) in common.merging(files, uniquingKeysWith: { $1 }) {
            let url = URL(fileURLWithPath: root + path)
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try Data(text.utf8).write(to: url)
        }
        return MachineResourceUsage(root: root).read(memoryLimit: memoryLimit)
    }

    private static let newGroup = [
        "/proc/self/cgroup": "0::/app\n", "/sys/fs/cgroup/app/memory.current": "700\n",
        "/sys/fs/cgroup/app/memory.max": "1000\n", "/sys/fs/cgroup/app/memory.stat": "anon 1\ninactive_file 200\n",
    ]

    @Test(arguments: HostileNumbers.texts) func `B-05: any number in a file of the kernel is a use within bounds`(
        text: String
    )
        throws
    {
        let statistics = "inactive_file \(text)\nactive_file \(text)\nslab_reclaimable \(text)\n"
        var groups: [[String: String]] = [["/proc/self/statm": "\(text) \(text) \(text) 1 0 50 0\n"]]
        groups.append(["/proc/meminfo": "MemTotal:  \(text) kB\n"])
        for (name, value) in [("current", text), ("max", text), ("stat", statistics)] {
            groups.append(Self.newGroup.merging(["/sys/fs/cgroup/app/memory.\(name)": value]) { $1 })
        }
        for files in groups {
            let usage = try Self.usage(files)
            #expect(usage.memory >= 0 && usage.memoryLimit >= 0)
            #expect(usage.share >= 0 && Int(saturating: usage.share * 100) >= 0)
        }
    }

    @Test func `in a container of cgroup v2 its use without idle file pages counts against its bound`() throws {
        let usage = try Self.usage(Self.newGroup)
        #expect(usage.memory == 500 && usage.memoryLimit == 1000)
    }

    @Test func `in a container of cgroup v1 the same holds`() throws {
        let usage = try Self.usage([
            "/proc/self/cgroup": "12:cpu:/x\n5:memory:/docker/1\n",
            "/sys/fs/cgroup/memory/memory.usage_in_bytes": "900\n",
            "/sys/fs/cgroup/memory/memory.limit_in_bytes": "2000\n",
            "/sys/fs/cgroup/memory/memory.stat": "total_inactive_file 100\n",
        ])
        #expect(usage.memory == 800 && usage.memoryLimit == 2000)
    }

    @Test func `B-16: pages that the kernel takes back do not count, whether a file was read once or often`() throws {
        var files = Self.newGroup
        files["/sys/fs/cgroup/app/memory.stat"] = """
            anon 90
            file 330
            inactive_file 200
            active_file 130
            inactive_anon 40
            slab_reclaimable 70
            slab_unreclaimable 50

            """
        #expect(try Self.usage(files).memory == 300)
        files["/sys/fs/cgroup/app/memory.stat"] = "inactive_file 600\nactive_file 400\n"
        #expect(try Self.usage(files).memory == 0)
        let old = [
            "/proc/self/cgroup": "5:memory:/docker/1\n", "/sys/fs/cgroup/memory/memory.usage_in_bytes": "900\n",
            "/sys/fs/cgroup/memory/memory.limit_in_bytes": "2000\n",
            "/sys/fs/cgroup/memory/memory.stat": "active_file 1\ntotal_inactive_file 100\ntotal_active_file 250\n",
        ]
        #expect(try Self.usage(old).memory == 550)
    }

    private static let page = Int64(sysconf(Int32(_SC_PAGESIZE)))

    @Test func `without a bound of a container memory of no file counts against the machine's`() throws {
        var files = Self.newGroup
        files["/sys/fs/cgroup/app/memory.max"] = "max\n"
        let usage = try Self.usage(files)
        #expect(usage.memory == 150 * Self.page && usage.memoryLimit == 8_192_000)
    }

    @Test func `B-16: a bound of the file comes first, and clean pages of the program do not count`() throws {
        let usage = try Self.usage(Self.newGroup, memoryLimit: 77)
        #expect(usage.memory == 150 * Self.page && usage.memoryLimit == 77)
        #expect(usage.anonymous == 150 * Self.page && usage.filePages == 100 * Self.page)
    }

    @Test func `B-16: this process knows what its allocator gave out, and gets back what it freed`() {
        let source = MachineResourceUsage()
        let before = source.allocator.allocated
        // Other tests of the process allocate and free meanwhile, much less.
        var held = (0..<4096).map { [UInt8](repeating: UInt8($0 & 0xFF), count: 64 << 10) }
        #expect(source.allocator.allocated >= before + 128 << 20)
        let peak = source.read(memoryLimit: nil).anonymous
        held.removeAll()
        source.trim()
        #expect(source.read(memoryLimit: nil).anonymous < peak - 64 << 20)
    }

    @Test func `descriptors are counted against the soft limit`() throws {
        let usage = try Self.usage([:])
        #expect(usage.descriptorLimit == 1024 && usage.descriptors > 0)
    }

    @Test func `this machine reports all of it`() {
        let usage = MachineResourceUsage().read(memoryLimit: nil)
        #expect(usage.memory > 0 && usage.memoryLimit > usage.memory)
        #expect(usage.descriptors > 2 && usage.descriptorLimit > usage.descriptors)
    }

    @Test(arguments: [(20_000, 9800), (40_000, 10_000), (1024, 312), (256, 64), (0, 10_000), (2, 1)])
    func `half of the descriptors less 200 may be connections`(descriptors: Int, connections: Int) {
        #expect(GatewayLimits.maxConnections(descriptors: descriptors) == connections)
    }
}
