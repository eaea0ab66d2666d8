// SPDX-License-Identifier: Apache-2.0

/// A value of RESP3, the protocol of Redis.
enum RESPValue: Sendable, Equatable {
    /// A text, simple or with its length.
    case text([UInt8])
    /// An error, such as `READONLY You can't write against a read only replica.`
    case error(String)
    /// A number; a Boolean is 0 or 1.
    case integer(Int64)
    /// No value.
    case null
    /// An array or a set; a map has keys and values in turn.
    case list([RESPValue])
    /// A message that does not belong to a command.
    case push([RESPValue])
    /// A reply over its limits, of which nothing was kept.
    case tooLarge

    /// The bytes of a text; nil for everything else.
    var bytes: [UInt8]? {
        guard case .text(let bytes) = self else { return nil }
        return bytes
    }

    /// The number, also one that is written as text; nil for everything else.
    var number: Int64? {
        switch self {
        case .integer(let value): value
        case .text(let bytes): Int64(String(decoding: bytes, as: UTF8.self))
        default: nil
        }
    }

    /// The values of a list; nil for everything else.
    var values: [RESPValue]? {
        guard case .list(let values) = self else { return nil }
        return values
    }
}

/// Why a reply cannot be read; the connection is closed, since its rest would be read as the next reply.
struct RESPViolation: Error, Equatable {
    /// What is wrong.
    let reason: String
}
