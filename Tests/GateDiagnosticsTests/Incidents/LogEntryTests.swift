// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GateOperations
import NIOCore
import Testing

@testable import GateDiagnostics

@Suite struct LogEntryTests {
    private static let hostile = [
        "plain", "", "a b", #"call "x""#, "a=b", "\n", "\u{1B}[2J", "\u{202E}", #"\"#, "ü", #"" code=forged x=""#,
        #"","code":"forged"#, "\u{FF}", "mock:ada may not enter staff: deny in line 3",
    ]

    /// A line as the gateway writes it.
    private func line(_ format: LogFormat, _ values: [(String, String)], message: String = "upstream failed") -> String
    {
        var time = LogTime(.fixed(Instant(seconds: 1_800_000_000)))
        var line = LogLine(format)
        line.begin(&time, level: "warning", stream: .process, message: message)
        for (name, value) in values { line.add(LogKey(name), value) }
        line.add(LogKey("rule"), 31)
        line.end()
        return String(buffer: line.bytes)
    }

    @Test(arguments: LogFormat.allCases, LogEntryTests.hostile)
    func `a line is read back with the names that it was written with`(format: LogFormat, value: String) throws {
        let text = self.line(format, [("detail", value), ("incident", "kD3pZ0qLxV7w")])
        let entry = try #require(LogEntry(Array(text.utf8)))
        #expect(entry.message == "upstream failed" && entry.time.hasPrefix("2027-01-15T08:00:00"))
        #expect(Set(entry.values.keys) == ["detail", "incident", "rule"])
        #expect(entry.values["incident"] == "kD3pZ0qLxV7w" && entry.values["rule"] == "31")
        // In text, a quotation mark in a value is written as an apostrophe.
        let written = PrintableText.escaped(format == .json ? value : value.replacing("\"", with: "'"))
        #expect(entry.values["detail"] == written)
    }

    @Test(
        arguments: LogFormat.allCases,
        ["Nov 23 12:00:00 gate gatehouse[7]: ", "<30>1 - - gatehouse 7 process - ", "gateway-1 | "]
    )
    func `what a log daemon writes before the line is ignored`(format: LogFormat, prefix: String) throws {
        let text = prefix + self.line(format, [("code", "upstream.closed")], message: "refused")
        let entry = try #require(LogEntry(Array(text.utf8)))
        #expect(entry.message == "refused" && entry.values["code"] == "upstream.closed")
    }

    @Test func `a changed file cannot steer the terminal of who reads it`() throws {
        let text = "2027-01-15T08:00:00Z info refused detail=\u{1B}[2J\u{202E}x code=a"
        let entry = try #require(LogEntry(Array(text.utf8)))
        #expect(entry.values.allSatisfy { PrintableText.isPrintable($0.value) })
        let json = #"{"time":"2027-01-15T08:00:00.000Z","message":"re\u001bfused","a\u202eb":"\u0007"}"#
        let read = try #require(LogEntry(Array(json.utf8)))
        #expect(PrintableText.isPrintable(read.message))
        #expect(read.values.allSatisfy { PrintableText.isPrintable($0.key) && PrintableText.isPrintable($0.value) })
    }

    @Test(
        arguments: [
            "", "{", #"{"time":"now","message":"x"}"#, #"{"time":"2027-01-15T08:00:00.000Z"}"#,
            #"{"time":"2027-01-15T08:00:00.000Z","message":"x","a":{"b":1}}"#, "2027-01-15T08:00:00Z loud refused a=b",
            "2027-01-15T08:00:00Z info a=b", "127.0.0.1 - - [15/Jan/2027] \"GET / HTTP/1.1\" 200",
        ]
    )
    func `a line of another program is left out`(text: String) {
        #expect(LogEntry(Array(text.utf8)) == nil)
    }
}
