// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import Testing

@testable import GateServer

@Suite struct SessionFilterTests {
    @Test func `the lines for the log have every condition, each on one line`() {
        var filter = SessionFilter()
        filter.ids = Set((0..<100).map { "id-\($0)-abcdefghijklmnop" })
        filter.user = "google:1"
        filter.place = .host("gate.example.com")
        let lines = filter.lines
        #expect(lines.allSatisfy { $0.count <= 1000 } && lines.count > 1)
        let words = lines.flatMap { $0.split(separator: " ") }
        #expect(Set(words) == Set(filter.ids.map { "id=\($0)"[...] } + ["user=google:1", "host=gate.example.com"]))
        #expect(words.count == 102)
    }

    @Test func `a condition that is longer than a line is continued, and forges no line`() {
        var filter = SessionFilter()
        filter.user = "x:" + String(repeating: "\u{202E}", count: 340)
        filter.provider = "a\nsessions revoked"
        let lines = filter.lines
        let text = lines.joined()
        #expect(lines.allSatisfy { $0.count <= 1000 })
        #expect(text.ranges(of: #"\u{202E}"#).count == 340)
        #expect(text.hasSuffix(#"provider=a\nsessions revoked"#) && !text.contains("\n"), "\(text.suffix(60))")
    }

    @Test func `without a condition it is all`() {
        #expect(SessionFilter().lines == ["all"])
    }
}
