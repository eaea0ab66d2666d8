// SPDX-License-Identifier: Apache-2.0

import GateWire
import NIOCore
import Testing

@testable import GateTracing

/// The rules of W3C Trace Context §3.2 and §3.3.
@Suite struct TraceParentTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let parent = "00f067aa0ba902b7"

    @Test func `a valid field names trace, parent and whether it is sampled`() throws {
        let sampled = try #require(TraceParent("00-\(Self.trace)-\(Self.parent)-01".utf8))
        #expect("\(sampled.trace)" == Self.trace && "\(sampled.span)" == Self.parent && sampled.isSampled)
        let other = try #require(TraceParent("00-\(Self.trace)-\(Self.parent)-00".utf8))
        #expect(!other.isSampled)
    }

    @Test(arguments: [("03", true), ("02", false), ("ff", true), ("fe", false)])
    func `of the flags only the last bit counts`(flags: String, isSampled: Bool) throws {
        #expect(try #require(TraceParent("00-\(Self.trace)-\(Self.parent)-\(flags)".utf8)).isSampled == isSampled)
    }

    @Test(arguments: ["", "-", "-what-comes-later"])
    func `a later version is read as far as it is known`(rest: String) throws {
        let read = try #require(TraceParent("cc-\(Self.trace)-\(Self.parent)-01\(rest)".utf8))
        #expect("\(read.trace)" == Self.trace && read.isSampled)
    }

    @Test(arguments: [
        "", "-", "00", "00-", "00-\(trace)", "00-\(trace)-\(parent)", "00-\(trace)-\(parent)-",
        // Versions: too short, too long, not hexadecimal, the one that is not allowed.
        "0-\(trace)-\(parent)-01", "000-\(trace)-\(parent)-01", ".0-\(trace)-\(parent)-01",
        "0G-\(trace)-\(parent)-01", "ff-\(trace)-\(parent)-01", "FF-\(trace)-\(parent)-01", "AB-\(trace)-\(parent)-01",
        // Trace ids: zero, too short, too long, capitals, not hexadecimal.
        "00-00000000000000000000000000000000-\(parent)-01", "00-\(trace.dropLast())-\(parent)-01",
        "00-\(trace)0-\(parent)-01", "00-\(trace.uppercased())-\(parent)-01", "00-g\(trace.dropFirst())-\(parent)-01",
        "00-\(trace.dropLast()) -\(parent)-01",
        // Parent ids: the same.
        "00-\(trace)-0000000000000000-01", "00-\(trace)-\(parent.dropLast())-01", "00-\(trace)-\(parent)0-01",
        "00-\(trace)-\(parent.uppercased())-01", "00-\(trace)-.\(parent.dropFirst())-01",
        // Flags.
        "00-\(trace)-\(parent)-0", "00-\(trace)-\(parent)-001", "00-\(trace)-\(parent)-.0", "00-\(trace)-\(parent)-0G",
        "00-\(trace)-\(parent)-0A",
        // Other separators and things around it.
        "00_\(trace)-\(parent)-01", "00-\(trace)_\(parent)-01", "00-\(trace)-\(parent)_01",
        " 00-\(trace)-\(parent)-01", "00-\(trace)-\(parent)-01 ", "00-\(trace)-\(parent)-01\t",
        // Version 00 has an end, and what follows in a later one begins with a dash.
        "00-\(trace)-\(parent)-01-", "00-\(trace)-\(parent)-01-more", "00-\(trace)-\(parent)-01.",
        "cc-\(trace)-\(parent)-01.more", "cc-\(trace)-\(parent)-0",
        "cc-\(trace)-\(parent)-01-\(String(repeating: "x", count: 512))",
    ])
    func `a malformed field is not read`(value: String) {
        #expect(TraceParent(value.utf8) == nil)
    }

    @Test func `what is written for a child is read as its parent`() throws {
        for isSampled in [true, false] {
            let context = TraceContext(trace: .random(), span: .random(), isSampled: isSampled)
            let read = try #require(TraceParent(context.traceParent.utf8))
            #expect(read.trace == context.trace && read.span == context.span && read.isSampled == isSampled)
        }
        let small = TraceContext(
            trace: try #require(TraceID(high: 0, low: 1)),
            span: try #require(SpanID(10)),
            isSampled: true
        )
        #expect(small.traceParent == "00-00000000000000000000000000000001-000000000000000a-01")
    }

    private func head(_ lines: String) throws -> MessageHead {
        var parser = RequestParser(names: FieldNames(alsoManaged: []), isSecure: true)
        var buffer = ByteBuffer(string: "GET / HTTP/1.1\r\nHost: gate.example.com\r\n\(lines)\r\n")
        return try #require(try parser.head(from: &buffer)).message
    }

    @Test func `the name of the field has any letter case, and several fields count as no field`() throws {
        let value = "00-\(Self.trace)-\(Self.parent)-01"
        #expect(try self.head("TraceParent: \(value)\r\n").traceParent?.isSampled == true)
        #expect(try self.head("traceparent: \(value)\r\ntraceparent: \(value)\r\n").traceParent == nil)
        #expect(try self.head("trace-parent: \(value)\r\n").traceParent == nil)
        #expect(try self.head("").traceParent == nil)
    }

    @Test func `a state of up to 512 bytes and 32 members is passed on`() throws {
        let members = { (count: Int) in (0..<count).map { "k\($0)=v" }.joined(separator: ",") }
        #expect(try self.head("tracestate: \(members(32))\r\n").hasForwardableTraceState)
        #expect(try !self.head("tracestate: \(members(33))\r\n").hasForwardableTraceState)
        #expect(try !self.head("tracestate: \(members(17))\r\nTraceState: \(members(16))\r\n").hasForwardableTraceState)
        let long = { (count: Int) in "k=" + String(repeating: "v", count: count - 2) }
        #expect(try self.head("tracestate: \(long(512))\r\n").hasForwardableTraceState)
        #expect(try !self.head("tracestate: \(long(513))\r\n").hasForwardableTraceState)
        #expect(try !self.head("tracestate: \(long(256))\r\ntracestate: \(long(256))\r\n").hasForwardableTraceState)
        #expect(try self.head("").hasForwardableTraceState)
    }
}
