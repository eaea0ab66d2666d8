// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GateWire

@Suite struct ProxyProtocolHeaderTests {
    /// A header of version 2.
    static func binary(
        _ command: UInt8 = 0x21,
        _ family: UInt8 = 0x11,
        _ payload: [UInt8] = [192, 0, 2, 1, 192, 0, 2, 2, 0xDC, 0x04, 0x01, 0xBB],
        length: Int? = nil
    ) -> [UInt8] {
        let count = length ?? payload.count
        let start: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]
        return start + [command, family, UInt8(count >> 8), UInt8(count & 0xFF)] + payload
    }

    /// The result of parsing, as text.
    static func reading(_ bytes: [UInt8]) -> String {
        do throws(ProxyProtocolHeader.Rejection) {
            guard let header = try ProxyProtocolHeader.read(bytes.span) else { return "more" }
            return "\(header.length) \(header.source.map { $0.bytes.map(String.init).joined(separator: ".") } ?? "-")"
        } catch {
            return error.rawValue
        }
    }

    private static let four = "0.0.0.0.0.0.0.0.0.0.255.255.192.0.2.1"
    private static let six = "32.1.13.184.0.0.0.0.0.0.0.0.0.0.0.1"

    @Test(arguments: [
        ("PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\n", "42 \(four)"),
        ("PROXY TCP4 192.0.2.1 192.0.2.2 0 65535\r\n", "40 \(four)"),
        ("PROXY TCP6 2001:db8::1 2001:db8::2 1 2\r\n", "40 \(six)"),
        ("PROXY UNKNOWN\r\n", "15 -"), ("PROXY UNKNOWN ffff::1 whatever 1 2\r\n", "36 -"),
    ])
    func `a header of version 1 has the client IP`(text: String, expected: String) {
        #expect(Self.reading(Array(text.utf8)) == expected)
        #expect(Self.reading(Array("\(text)GET / HTTP/1.1\r\n".utf8)) == expected)
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\n", "signature"), ("PROXX TCP4", "signature"), ("proxy TCP4 ", "signature"),
        ("PROXY  TCP4 192.0.2.1 192.0.2.2 1 2\r\n", "family"), ("PROXY TCP5 192.0.2.1 192.0.2.2 1 2\r\n", "family"),
        ("PROXY\r\n", "signature"), ("PROXY \r\n", "family"), ("PROXY UDP4 192.0.2.1 192.0.2.2 1 2\r\n", "family"),
        ("PROXY TCP4 192.0.2.1 192.0.2.2 1\r\n", "address"), ("PROXY TCP4 192.0.2.1 192.0.2.2 1 2 3\r\n", "address"),
        ("PROXY TCP4 192.0.2.256 192.0.2.2 1 2\r\n", "address"), ("PROXY TCP4 192.0.2.1 x 1 2\r\n", "address"),
        ("PROXY TCP4 192.0.2.01 192.0.2.2 1 2\r\n", "address"), ("PROXY TCP4 192.0.2.1 192.0.2.2 01 2\r\n", "address"),
        ("PROXY TCP4 192.0.2.1 192.0.2.2 1 65536\r\n", "address"),
        ("PROXY TCP4 192.0.2.1 192.0.2.2 +1 2\r\n", "address"),
        ("PROXY TCP4 2001:db8::1 2001:db8::2 1 2\r\n", "address"),
        ("PROXY TCP6 192.0.2.1 192.0.2.2 1 2\r\n", "address"),
        ("PROXY TCP4 192.0.2.1 192.0.2.2 1 2 \r\n", "address"), ("PROXY TCP4 192.0.2.1\t192.0.2.2 1 2\r\n", "address"),
        ("PROXY TCP4 192.0.2.1 192.0.2.2 1 2\n", "address"), ("PROXY TCP4 192.0.2.1 192.0.2.2 1 2\rX", "address"),
        ("PROXY UNKNOWN \(String(repeating: "x", count: 100))", "too_long"),
        ("PROXY UNKNOWN \(String(repeating: "x", count: 92))\r\n", "address"),
    ])
    func `a malformed header of version 1 is rejected`(text: String, expected: String) {
        #expect(Self.reading(Array(text.utf8)) == expected)
    }

    @Test func `a header of version 1 may have 107 bytes`() {
        let text = "PROXY UNKNOWN \(String(repeating: "x", count: 91))\r\n"
        #expect(text.utf8.count == 107)
        #expect(Self.reading(Array(text.utf8)) == "107 -")
    }

    @Test func `a header of version 2 has the client IP, and extensions are skipped`() {
        #expect(Self.reading(Self.binary()) == "28 \(Self.four)")
        let six: [UInt8] =
            [0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [1] + [UInt8](repeating: 0, count: 20)
        #expect(Self.reading(Self.binary(0x21, 0x21, six)) == "52 \(Self.six)")
        let four: [UInt8] = [192, 0, 2, 1, 192, 0, 2, 2, 0, 1, 0, 2]
        let extended = four + [0x04, 0x00, 0x02, 0xAB, 0xCD]
        #expect(Self.reading(Self.binary(0x21, 0x11, extended) + [0x16, 0x03]) == "33 \(Self.four)")
        let max = four + [UInt8](repeating: 0, count: 508)
        #expect(Self.reading(Self.binary(0x21, 0x11, max)) == "536 \(Self.four)")
    }

    @Test func `a connection of the load balancer itself, or of unknown origin, has no client IP`() {
        #expect(Self.reading(Self.binary(0x20, 0x11)) == "28 -")
        #expect(Self.reading(Self.binary(0x20, 0x00, [])) == "16 -")
        #expect(Self.reading(Self.binary(0x21, 0x00, [])) == "16 -")
        #expect(Self.reading(Self.binary(0x21, 0x00, [0x04, 0, 0])) == "19 -")
    }

    @Test(arguments: [
        (binary(0x11), "command"), (binary(0x22), "command"), (binary(0x31), "command"), (binary(0x00), "command"),
        (binary(0x21, 0x12), "family"), (binary(0x21, 0x22), "family"), (binary(0x21, 0x31), "family"),
        (binary(0x21, 0x10), "family"), (binary(0x21, 0x41), "family"),
        (binary(0x21, 0x11, [1, 2, 3, 4]), "address"), (binary(0x21, 0x21), "address"),
        (binary(0x21, 0x11, [], length: 0), "address"),
        (binary(0x21, 0x11, [], length: 521), "too_long"), (binary(0x20, 0x00, [], length: 65_535), "too_long"),
        ([0x0D, 0x0A, 0x0D, 0x0B], "signature"), ([0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x00], "signature"),
        ([0x16, 0x03, 0x01], "signature"), ([0x00], "signature"),
    ])
    func `a malformed header of version 2 is rejected`(bytes: [UInt8], expected: String) {
        #expect(Self.reading(bytes) == expected)
    }

    @Test(arguments: [
        Array("PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\n".utf8), Array("PROXY UNKNOWN\r\n".utf8), binary(),
        binary(0x20, 0x00, []), binary(0x21, 0x11, [192, 0, 2, 1, 192, 0, 2, 2, 0, 1, 0, 2, 4, 0, 1, 0]),
    ])
    func `a header received byte by byte is complete with its last byte`(bytes: [UInt8]) {
        for count in 0..<bytes.count { #expect(Self.reading(Array(bytes.prefix(count))) == "more") }
        #expect(Self.reading(bytes).hasPrefix("\(bytes.count) "))
    }
}
