// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import GateCore
internal import GateOperations
internal import Metrics

/// The metrics that each process with Prometheus metrics has, by their usual names.
enum ProcessMetrics {
    private static let cpu = MetricSeries.counter(
        "process_cpu_seconds_total",
        unit: "seconds",
        help: "Processor time that the process has used"
    )
    private static let residentMemory = MetricSeries.gauge(
        "process_resident_memory_bytes",
        unit: "bytes",
        help: "Resident memory of the process"
    )
    private static let virtualMemory = MetricSeries.gauge(
        "process_virtual_memory_bytes",
        unit: "bytes",
        help: "Virtual memory of the process"
    )
    private static let openDescriptors = MetricSeries.gauge(
        "process_open_fds",
        unit: "descriptors",
        help: "Open file descriptors"
    )
    private static let maxDescriptors = MetricSeries.gauge(
        "process_max_fds",
        unit: "descriptors",
        help: "File descriptors that may be open"
    )
    private static let startTime = MetricSeries.gauge(
        "process_start_time_seconds",
        unit: "seconds",
        help: "When the process started, in Unix time"
    )
    private static let threads = MetricSeries.gauge("process_threads", unit: "threads", help: "Threads of the process")

    /// All of them.
    static let all = [
        cpu, residentMemory, virtualMemory, openDescriptors, maxDescriptors, startTime, threads,
    ]

    /// Records them.
    ///
    /// - Parameters:
    ///   - descriptors: How many are open.
    ///   - limit: How many may be.
    ///   - start: When the process started.
    static func record(descriptors: Int, limit: Int, start: Instant) {
        self.openDescriptors.gauge().record(descriptors)
        self.maxDescriptors.gauge().record(limit)
        self.startTime.gauge().record(start.seconds)
        // proc_pid_stat(5): the fields after the name in parentheses, of which the first is number 3.
        guard let text = try? String(contentsOfFile: "/proc/self/stat", encoding: .utf8),
            let end = text.lastIndex(of: ")")
        else { return }
        let fields = text[end...].split(separator: " ").dropFirst().map { Double($0) ?? 0 }
        guard fields.count > 21 else { return }
        self.cpu.gauge().record((fields[11] + fields[12]) / Double(sysconf(Int32(_SC_CLK_TCK))))
        self.threads.gauge().record(fields[17])
        self.virtualMemory.gauge().record(fields[20])
        self.residentMemory.gauge().record(fields[21] * Double(sysconf(Int32(_SC_PAGESIZE))))
    }
}
