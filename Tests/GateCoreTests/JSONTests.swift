// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@Suite struct JSONTests {
    private func parse(_ text: String, depth: Int = 32) throws(JSON.ParseError) -> JSON {
        try JSON(parsing: text.utf8, depth: depth)
    }

    @Test(
        arguments: [
            ("null", JSON.null), (" true\n", true), ("false", false), ("0", 0), ("-0", .number("-0")),
            ("1.50e+3", .number("1.50e+3")), ("\"\"", ""), ("[]", []), ("{}", [:]), ("[1,[2]]", [1, [2]]),
            ("{\"a\":{\"b\":[null]}}", ["a": ["b": [.null]]]),
            ("\"\\u00e9\\ud83d\\ude00\\/\\b\\f\\n\\r\\t\\\"\\\\\"", "\u{E9}\u{1F600}/\u{8}\u{C}\n\r\t\"\\"),
        ] as [(String, JSON)]
    )
    func `a document is read`(text: String, value: JSON) throws {
        #expect(try self.parse(text) == value)
    }

    @Test(arguments: [
        "", " ", "nul", "nullx", "True", "[1,]", "[,1]", "[1 2]", "[", "]", "{", "{\"a\"}", "{\"a\":}", "{a:1}",
        "{\"a\":1,}", "'a'", "01", "-", "+1", ".5", "5.", "1e", "1e+", "0x10", "NaN", "Infinity", "-Infinity", "1 2",
        "{} {}", "\"", "\"\\x\"", "\"\\u12\"", "\"\\u+123\"", "\"\\ud800\"", "\"\\ud800\\u0041\"", "\"\\udc00\"",
        "\"\n\"", "\"\u{0}\"", "\"\t\"", "\u{FEFF}{}", "/* */{}", "{}//", "[1]\u{A0}",
        "1234567890123456789012345678901234567890123456789012345678901234567890",
    ])
    func `what RFC 8259 does not allow is refused`(text: String) {
        #expect(throws: JSON.ParseError.self) { try self.parse(text) }
    }

    @Test(arguments: [
        [0x22, 0xFF, 0x22], [0x22, 0xC0, 0x80, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22], [0x22, 0xC3, 0x22],
    ])
    func `a string that is not UTF-8 is refused`(bytes: [UInt8]) {
        #expect(throws: JSON.ParseError.self) { try JSON(parsing: bytes) }
    }

    @Test func `one name twice in an object is refused at any depth`() {
        #expect(throws: JSON.ParseError.duplicateName("a")) { try self.parse("{\"a\":1,\"b\":2,\"\\u0061\":3}") }
        #expect(throws: JSON.ParseError.duplicateName("x")) { try self.parse("[{\"a\":{\"x\":1,\"x\":1}}]") }
    }

    @Test func `nesting has a bound`() throws {
        let fits = String(repeating: "[", count: 32) + String(repeating: "]", count: 32)
        #expect(throws: Never.self) { try self.parse(fits) }
        #expect(throws: JSON.ParseError.tooDeep) { try self.parse("[\(fits)]") }
        #expect(throws: JSON.ParseError.tooDeep) { try self.parse(String(repeating: "{\"a\":", count: 1_000_000)) }
    }

    @Test func `a number of any size stays as it was written`() throws {
        #expect(try self.parse("104729384756102938475") == .number("104729384756102938475"))
        #expect(try self.parse("104729384756102938475").text == "104729384756102938475")
        #expect(try self.parse("104729384756102938475").integer == nil)
        #expect(try self.parse("9223372036854775807").integer == .max)
        #expect(try self.parse("1.0").integer == nil)
    }

    @Test(
        arguments: [
            ("1800000000", 1_800_000_000), ("1800000000.9", 1_800_000_000), ("1.8e9", 1_800_000_000), ("0", 0),
            ("-1", nil), ("1e400", nil), ("9007199254740993000", nil), ("\"1800000000\"", nil), ("true", nil),
        ] as [(String, Int64?)]
    )
    func `a numeric date is whole seconds within range`(text: String, seconds: Int64?) throws {
        #expect(try self.parse(text).numericDate == seconds.map(Instant.init(seconds:)))
    }

    @Test func `equal values are equal bytes and read back`() throws {
        let value: JSON = ["b": [1, true, .null], "a": "\"\\\u{1}\u{7F}\n\u{1F600}/<>&"]
        #expect(value.text == "{\"a\":\"\\\"\\\\\\u0001\\u007f\\n\u{1F600}/<>&\",\"b\":[1,true,null]}")
        #expect(try JSON(parsing: value.encoded) == value)
        #expect(try JSON(parsing: value.pretty().utf8) == value)
    }

    @Test(arguments: [
        ("", true), ("/a/0/b", true), ("/a~1b", true), ("/m~0n", true), ("/", true), ("a", false), ("/a/00/b", false),
        ("/a/1", false), ("/a/-1", false), ("/a/+0", false), ("/x", false), ("/a/0/b/c", false),
        ("/a/99999999999999999999", false),
    ])
    func `a pointer finds by RFC 6901 or not at all`(pointer: String, isFound: Bool) {
        let value: JSON = ["a": [["b": 1]], "a/b": 2, "m~n": 3, "": 4]
        #expect((value.value(at: pointer) != nil) == isFound)
    }
}
