// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateConfiguration
import GateCore
import GateTestSupport
import GateWire
import Logging
import NIOCore
import Testing

@testable import GateOperations

@Suite struct LogLineTests {
    private func line(_ format: LogFormat, _ value: String) -> String {
        var time = LogTime(.fixed(Instant(seconds: 0)))
        var line = LogLine(format)
        line.begin(&time, level: "info", stream: .access, message: "request")
        line.add(LogKey("value"), value)
        line.add(LogKey("end"), 7)
        line.end()
        return String(buffer: line.bytes)
    }

    @Test func `a line of JSON is one object with the time in milliseconds`() throws {
        let text = self.line(.json, "plain")
        let start = #"{"time":"1970-01-01T00:00:00.000Z","level":"info","stream":"access","message":"request""#
        #expect(text == start + #","value":"plain","end":7}"# + "\n")
    }

    @Test func `the time of an access line is at most a second behind a clock that was set`() {
        let clock = TestClock()
        var time = LogTime(clock.clock)
        var line = LogLine(.text)
        let opening = LogOpening(level: "info", stream: .access, message: "request")
        func text(at milliseconds: Int64) -> String {
            line.clear()
            let deadline = NIODeadline.uptimeNanoseconds(5_000_000_000) + .milliseconds(milliseconds)
            line.begin(&time, opening, isExact: true, at: deadline)
            return String(String(buffer: line.bytes).dropFirst(11).prefix(12))
        }
        #expect(text(at: 0) == "08:00:00.000")
        clock.advance(by: 3600)
        #expect(text(at: 250) == "08:00:00.250")
        #expect(text(at: 999) == "08:00:00.999")
        #expect(text(at: 1000) == "09:00:00.000")
        #expect(text(at: 1600) == "09:00:00.600")
        #expect(text(at: 400) == "09:00:00.000", "a request that ended before is not one of long ago")
    }

    @Test(
        arguments: [
            "\n", "\r", "\0", "\u{1B}[2K", "\u{7F}", "\u{85}", "\u{2028}", "\u{202E}", "\u{2066}", "\u{200F}",
        ])
    func `no control character, line separator or bidirectional control is in a line`(scalar: String) throws {
        for format in LogFormat.allCases {
            let text = self.line(format, "a\(scalar)b")
            #expect(text.utf8.count { $0 == 0x0A } == 1)
            #expect(PrintableText.isPrintable(text.dropLast()))
            guard format == .json else { continue }
            let read = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
            let value = try #require(read["value"] as? String)
            #expect(PrintableText.isPrintable(value), "a parsed value is as safe as the line")
        }
    }

    @Test(arguments: [#"a"b"#, #"a\b"#, #"\u0022,"status":200,"x":""#, "", "ü=ß", "a b"])
    func `no value ends its string`(value: String) throws {
        let text = self.line(.json, value)
        let read = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        #expect(read["value"] as? String == value)
        #expect(read["end"] as? Int == 7)
    }

    /// Values are looked at eight bytes at a time, of which the last overlap others.
    @Test(arguments: 1...26) func `an ASCII character is read back wherever it is in a value`(length: Int) throws {
        for place in 0..<length {
            for byte in UInt8(0x20)...0x7E {
                var bytes = (0..<length).map { UInt8(0x61 + $0) }
                bytes[place] = byte
                let value = String(decoding: bytes, as: UTF8.self)
                let json = self.line(.json, value)
                let read = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
                #expect(read["value"] as? String == value)
                #expect(read["end"] as? Int == 7)
                let isPlain = !["\"", "=", " "].contains(Character(Unicode.Scalar(byte)))
                #expect(self.line(.text, value).contains(" value=\(value) end=7") == isPlain)
            }
            for byte in [0x00, 0x0A, 0x1F, 0x7F] as [UInt8] {
                var bytes = (0..<length).map { UInt8(0x61 + $0) }
                bytes[place] = byte
                #expect(PrintableText.isPrintable(self.line(.text, String(decoding: bytes, as: UTF8.self)).dropLast()))
            }
        }
    }

    @Test func `bytes that are not UTF-8 are replaced`() throws {
        var time = LogTime()
        var line = LogLine(.json)
        line.begin(&time, level: "info", stream: .access, message: "request")
        let bytes: [UInt8] = [0x61, 0xFF, 0xC0, 0x62]
        line.add(LogKey("value"), bytes: bytes.span)
        line.end()
        #expect(String(validating: line.bytes.readableBytesView, as: UTF8.self)?.contains("a\u{FFFD}\u{FFFD}b") == true)
    }

    /// What a key, a value and the end of a line need is there however long they are.
    @Test(arguments: [1, 20, 21, 22, 127, 128, 129, 900, 2000], [1, 7, 8, 9, 500, 900, 4096])
    func `a key and a value of any length are whole`(key: Int, value: Int) {
        let (name, text) = (String(repeating: "k", count: key), String(repeating: "v", count: value))
        for before in [0, 1, 700, 900] {
            var line = LogLine(.json)
            line.add(LogKey("a"), String(repeating: "b", count: before + 1))
            line.add(LogKey(name), text)
            line.add(LogKey(name), 12)
            line.end()
            let begin = ",\"a\":\"\(String(repeating: "b", count: before + 1))\""
            #expect(String(buffer: line.bytes) == "\(begin),\"\(name)\":\"\(text)\",\"\(name)\":12}\n")
        }
    }

    @Test func `values and lines are limited in length`() {
        var time = LogTime()
        var line = LogLine(.json)
        line.begin(&time, level: "info", stream: .access, message: "request")
        for number in 0..<1000 { line.add(LogKey("key\(number)"), String(repeating: "\u{202E}", count: 10_000)) }
        line.end()
        #expect(line.bytes.readableBytes < 65_536)
    }

    @Test(arguments: [0, 7, 10, 99, 100, 65_535, 9_999_999, 10_000_000, .max, -1, .min])
    func `a number has its digits`(number: Int) {
        var line = LogLine(.text)
        line.add(LogKey("n"), number)
        line.end()
        #expect(String(buffer: line.bytes) == " n=\(number)\n")
    }

    @Test(
        arguments: [
            (UInt64(0), UInt64(0), "00000000000000000000000000000000"),
            (0x0123_4567_89AB_CDEF, 0xFEDC_BA98_7654_3210, "0123456789abcdeffedcba9876543210"),
            (.max, 0x0000_0000_0000_000A, "ffffffffffffffff000000000000000a"),
        ])
    func `an id of ours has 32 hexadecimal digits`(high: UInt64, low: UInt64, digits: String) {
        let id = RequestID.own(high, low)
        var line = LogLine(.json)
        line.add(LogKey("request"), id)
        #expect(String(buffer: line.bytes) == ",\"request\":\"\(digits)\"")
        #expect(id.text == digits)
        let head = HeadWriter.head(into: ByteBuffer()) { id.writeLine(to: &$0) }
        #expect(String(buffer: head) == "X-Request-Id: \(digits)\r\n\r\n")
    }

    @Test(arguments: [0, 1, 9, 10, 99, 1234, 9999, 10_000, 9_999_999, 123_456_789] as [Int64])
    func `a time has milliseconds with three decimals`(milliseconds: Int64) {
        for microseconds in 0..<1000 as Range<Int64> {
            var line = LogLine(.text)
            line.add(LogKey("t"), milliseconds: .microseconds(milliseconds * 1000 + microseconds))
            let decimals = String("\(1000 + microseconds)".dropFirst())
            #expect(String(buffer: line.bytes) == " t=\(milliseconds).\(decimals)")
        }
    }

    @Test(arguments: [("a", "b"), ("decision", "allowed"), ("name_of_a_key_that_is_long", "and_its_value_is_as_well")])
    func `a name with a value that is always the same is written as any other`(name: String, value: String) {
        for format in LogFormat.allCases {
            var one = LogLine(format)
            var other = LogLine(format)
            one.add(LogFact(name, value))
            other.add(LogKey(name), value)
            #expect(String(buffer: one.bytes) == String(buffer: other.bytes))
        }
    }

    @Test func `an emptied line has nothing of the one before`() {
        var line = LogLine(.text)
        line.add(LogKey("a"), String(repeating: "long", count: 2000))
        line.clear()
        line.add(LogKey("b"), "x")
        #expect(String(buffer: line.bytes) == " b=x")
    }
}

@Suite struct LogStreamTests {
    /// Writes a batch for each signal.
    private final class SlowOutput: LogOutput {
        let gate = DispatchSemaphore(value: 0)
        let taken = AtomicCounter()
        let audited = AtomicCounter()

        func write(_ lines: LogBatch) throws(WriteFailure) {
            self.gate.wait()
            for _ in lines.entries { (lines.stream == .audit ? self.audited : self.taken).add() }
        }

        func reopen() {}
    }

    @Test func `Y-03: a flood of access lines drops no audit line`() throws {
        let output = SlowOutput()
        var limits = LogWriter.Limits()
        limits.lines = 100
        let writer = LogWriter(to: output, limits: limits)
        var line = LogLine(.text)
        line.add(LogKey("x"), String(repeating: "x", count: 96))
        line.end()
        for _ in 0..<10_000 { writer.append(line, to: .access, severity: 6) }
        for _ in 0..<50 { writer.append(line, to: .audit, severity: 6) }
        #expect(writer.dropped(.queueFull) == 9900)
        for _ in 0..<10 { output.gate.signal() }
        writer.flush()
        #expect(output.audited.value == 50)
        #expect(output.taken.value == 101, "the access lines that fit, and the number of the others")
    }

    @Test func `a stream that is off costs no line, and each other goes to its file`() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        try PrivateFile.makeFolder(folder)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var settings = LogSettings()
        settings.format = .json
        settings[.audit] = .file("\(folder)/audit")
        settings[.process] = .file("\(folder)/process")
        settings[.security] = .off
        let router = LogRouter()
        try router.configure(settings)
        for stream in LogStream.allCases { router.append("x", .info, to: stream, [("a", stream.rawValue)]) }
        router.flush()
        let audit = try String(contentsOfFile: "\(folder)/audit", encoding: .utf8)
        let process = try String(contentsOfFile: "\(folder)/process", encoding: .utf8)
        #expect(audit.hasSuffix(#""level":"info","stream":"audit","message":"x","a":"audit"}"# + "\n"))
        #expect(process.hasSuffix(#""a":"process"}"# + "\n"))
        #expect((audit + process).split(separator: "\n").count == 2)
    }
}
