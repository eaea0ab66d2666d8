// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// The id of a request, in logs, for the app and for the client.
package enum RequestID: Sendable, Hashable {
    /// 32 hexadecimal digits that no other request has.
    case own(UInt64, UInt64)
    /// One that a trusted proxy has given.
    case given(String)

    /// The id as text.
    package var text: String {
        var buffer = ByteBuffer()
        self.write(to: &buffer)
        return String(buffer: buffer)
    }

    /// Appends the id to a head.
    package func write(to buffer: inout ByteBuffer) {
        switch self {
        case .given(let text): buffer.writeString(text)
        case .own(let high, let low):
            let digits = RequestID.digits(high, low)
            buffer.writeMultipleIntegers(digits[0], digits[1], digits[2], digits[3])
        }
    }

    /// The 32 digits of an own id: eight in each number, the first in its highest byte.
    package static func digits(_ high: UInt64, _ low: UInt64) -> InlineArray<4, UInt64> {
        [self.digits(of: high >> 32), self.digits(of: high), self.digits(of: low >> 32), self.digits(of: low)]
    }

    /// The eight digits of the lower half of a number, made at once: it is done twice for each request.
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

/// Makes ids for requests: 64 random bits for the loop, then a count, so that making one costs no system call.
package struct RequestIDs {
    private let prefix = UInt64.random(in: .min ... .max)
    private var count = UInt64.random(in: 0...0xFFFF_FFFF)

    /// Ids with a prefix of their own.
    package init() {}

    /// An id that no other request has.
    package mutating func next() -> RequestID {
        self.count &+= 1
        return .own(self.prefix, self.count)
    }
}
