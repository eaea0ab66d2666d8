// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import Testing

@testable import GateOperations

@Suite struct LogWriterTests {
    /// A pipe whose reader the test is.
    private struct LogPipe {
        let pipe = Pipe()

        init() {
            OutputDescriptor.ignoreSignals()
        }

        var output: OutputDescriptor { OutputDescriptor(self.pipe.fileHandleForWriting.fileDescriptor) }

        /// Reads until a line holds the text.
        func read(until end: String) throws -> [String] {
            var text = ""
            while !text.contains(end) || !text.hasSuffix("\n") {
                let bytes = self.pipe.fileHandleForReading.availableData
                try #require(!bytes.isEmpty)
                text += String(decoding: bytes, as: UTF8.self)
            }
            return text.split(separator: "\n").map(String.init)
        }
    }

    @Test func `lines arrive whole and in order`() throws {
        let log = LogPipe()
        let lines = LogWriter(to: log.output)
        for number in 0..<100 { lines.append("line \(number)") }
        #expect(try log.read(until: "line 99\n") == (0..<100).map { "line \($0)" })
    }

    @Test func `a value of metadata cannot begin a line or hide what follows it`() throws {
        let log = LogPipe()
        let logger = Logger(label: "test") { _ in LineLogHandler(router: LogRouter(LogWriter(to: log.output))) }
        let value = "a\r\n2026-01-01T00:00:00Z info signed in\u{2028}\u{202E}\u{1B}[2K"
        logger.warning("call failed", metadata: ["detail": "\(value)", "end": "here"])
        let lines = try log.read(until: "end=here")
        #expect(lines.count == 1)
        let shown = #"detail="a\r\n2026-01-01T00:00:00Z info signed in\u{2028}\u{202E}\u{1B}[2K" end=here"#
        #expect(lines.first?.hasSuffix("warning call failed \(shown)") == true, "\(lines)")
    }

    @Test func `a long value of metadata is cut`() throws {
        let log = LogPipe()
        let logger = Logger(label: "test") { _ in LineLogHandler(router: LogRouter(LogWriter(to: log.output))) }
        logger.warning("x", metadata: ["a": "\(String(repeating: "b", count: 10_000))", "end": "here"])
        #expect(
            try log.read(until: "end=here").first?.hasSuffix("a=\(String(repeating: "b", count: 4096))... end=here")
                == true
        )
    }

    @Test func `Y-03: lines for a full disk are dropped and counted`() throws {
        let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
        let lines = LogWriter(to: OutputDescriptor(full.fileDescriptor))
        for number in 0..<10 { lines.append("line \(number)") }
        lines.flush()
        #expect(lines.dropped(.writeFailed) == 10)
        #expect(lines.dropped(.queueFull) == 0)
    }

    @Test func `Y-03: lines for a closed pipe are dropped and counted`() throws {
        let log = LogPipe()
        try log.pipe.fileHandleForReading.close()
        let lines = LogWriter(to: log.output)
        lines.append("a line without a reader")
        lines.flush()
        #expect(lines.dropped(.writeFailed) == 1)
    }

    @Test func `Y-03: a reader that stalls makes the queue drop lines, and gets their number later`() throws {
        let log = LogPipe()
        var limits = LogWriter.Limits()
        limits.lines = 10
        let lines = LogWriter(to: log.output, limits: limits)
        // The kernel's buffer of a pipe takes 64 KiB.
        let large = String(repeating: "x", count: 80_000)
        lines.append(large)
        for number in 0..<20 { lines.append("line \(number)") }
        #expect(lines.dropped(.queueFull) == 11)
        let received = try log.read(until: "line 8\n")
        #expect(received.first == large)
        #expect(received.count { $0.hasSuffix(" warning log lines dropped count=11") } == 1)
        #expect(received.filter { $0.hasPrefix("line") } == (0..<9).map { "line \($0)" })
    }

    @Test func `Y-03: the bytes that wait are limited as well`() throws {
        let log = LogPipe()
        var limits = LogWriter.Limits()
        limits.bytes = 100_000
        let lines = LogWriter(to: log.output, limits: limits)
        lines.append(String(repeating: "x", count: 80_000))
        lines.append(String(repeating: "y", count: 30_000))
        #expect(lines.dropped(.queueFull) == 1)
        lines.append("a line that fits")
        #expect(try log.read(until: "a line that fits\n").count == 3)
    }
}
