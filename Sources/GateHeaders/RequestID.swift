// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

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
    func write(to buffer: inout ByteBuffer) {
        switch self {
        case .given(let text): buffer.writeString(text)
        case .own(let high, let low):
            buffer.writeInteger(RequestID.digits(of: UInt32(truncatingIfNeeded: high >> 32)))
            buffer.writeInteger(RequestID.digits(of: UInt32(truncatingIfNeeded: high)))
            buffer.writeInteger(RequestID.digits(of: UInt32(truncatingIfNeeded: low >> 32)))
            buffer.writeInteger(RequestID.digits(of: UInt32(truncatingIfNeeded: low)))
        }
    }

    /// The eight digits of a number, the first in the highest byte.
    private static func digits(of value: UInt32) -> UInt64 {
        var digits: UInt64 = 0
        for shift in stride(from: 28, through: 0, by: -4) {
            let digit = UInt64(value >> UInt32(shift)) & 0x0F
            digits = digits << 8 | (digit < 10 ? 0x30 + digit : 0x57 + digit)
        }
        return digits
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
