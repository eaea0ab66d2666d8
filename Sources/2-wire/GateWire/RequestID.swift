// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// The id of a request, in logs, for the app and for the client.
package enum RequestID: Sendable, Hashable {
    /// 32 hexadecimal digits that no other request has.
    case own(RequestDigits)
    /// One that a trusted proxy has given.
    case given(String)

    /// The id of two numbers.
    package static func own(_ high: UInt64, _ low: UInt64) -> RequestID {
        .own(RequestDigits(prefix: RequestDigits.Half(high), RequestDigits.Half(low)))
    }

    package var text: String {
        switch self {
        case .given(let text): return text
        case .own(let digits):
            var buffer = ByteBuffer()
            buffer.writeMultipleIntegers(
                digits.prefix.first,
                digits.prefix.last,
                digits.rest.first,
                digits.rest.last
            )
            return String(buffer: buffer)
        }
    }

    /// Appends the field line with the id to a head.
    package func writeLine(to head: inout HeadWriter) {
        switch self {
        case .given(let text): head.writeLine("X-Request-Id", text)
        case .own(let digits): digits.writeLine(to: &head)
        }
    }
}

/// The digits of an id, made once: they are written three times for each request.
package struct RequestDigits: Sendable, Hashable {
    /// Sixteen of them: eight in each number, the first in its highest byte.
    package struct Half: Sendable, Hashable {
        /// The first eight.
        package let first: UInt64
        /// The others.
        package let last: UInt64

        init(_ number: UInt64) {
            (self.first, self.last) = (Half.digits(of: number >> 32), Half.digits(of: number))
        }

        /// The eight digits of the lower half of a number, made at once.
        private static func digits(of value: UInt64) -> UInt64 {
            // One hexadecimal digit in each byte, then 0x30 added, and 0x27 more for those over nine.
            var spread = value & 0xFFFF_FFFF
            spread = (spread << 16 | spread) & 0x0000_FFFF_0000_FFFF
            spread = (spread << 8 | spread) & 0x00FF_00FF_00FF_00FF
            spread = (spread << 4 | spread) & 0x0F0F_0F0F_0F0F_0F0F
            let letters = (spread &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
            return spread &+ 0x3030_3030_3030_3030 &+ letters &* 0x27
        }
    }

    /// The first sixteen.
    package let prefix: Half
    /// The others.
    package let rest: Half

    init(prefix: Half, _ rest: Half) {
        (self.prefix, self.rest) = (prefix, rest)
    }

    /// Appends the field line to a head: 48 bytes at once.
    fileprivate func writeLine(to head: inout HeadWriter) {
        let (one, two) = (self.prefix.first.byteSwapped, self.prefix.last.byteSwapped)
        let (three, four) = (self.rest.first.byteSwapped, self.rest.last.byteSwapped)
        // "X-Request-Id: ", the digits and the line break, with the first byte in the lowest of each word: the machines that Swift runs on are
        // little-endian.
        let words: InlineArray<6, UInt64> = [
            0x7365_7571_6552_2D58, 0x203A_6449_2D74 | one << 48, one >> 16 | two << 48, two >> 16 | three << 48,
            three >> 16 | four << 48, four >> 16 | 0x0A0D << 48,
        ]
        unsafe head.write(words.span.bytes)
    }
}

/// Makes ids for requests: 64 random bits for the loop, then a count, so that making one costs no system call.
package struct RequestIDs {
    private let prefix = RequestDigits.Half(.random(in: .min ... .max))
    private var count = UInt64.random(in: 0...0xFFFF_FFFF)

    /// Ids with a prefix of their own.
    package init() {}

    /// An id that no other request has.
    package mutating func next() -> RequestID {
        self.count &+= 1
        return .own(RequestDigits(prefix: self.prefix, RequestDigits.Half(self.count)))
    }
}
