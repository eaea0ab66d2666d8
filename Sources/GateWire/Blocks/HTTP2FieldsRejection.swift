// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Why a header block of HTTP/2 is no message that may be passed on.
package struct HTTP2FieldsRejection: Error, Sendable, Hashable {
    /// What is told and counted, as of a head of HTTP/1.1.
    package let refusal: WireRejection
    /// Whether the block is no message at all, so that its stream is reset instead of answered.
    ///
    /// RFC 9113 §8.1.1.
    package let isMalformed: Bool

    /// A block that is readable, but is refused as the same head of HTTP/1.1 would be.
    static func refused(_ refusal: WireRejection) -> HTTP2FieldsRejection {
        HTTP2FieldsRejection(refusal: refusal, isMalformed: false)
    }

    /// A block that two readers could take for different messages.
    static func malformed(_ reason: Failure.Reason) -> HTTP2FieldsRejection {
        HTTP2FieldsRejection(refusal: .malformed(reason), isMalformed: true)
    }
}
