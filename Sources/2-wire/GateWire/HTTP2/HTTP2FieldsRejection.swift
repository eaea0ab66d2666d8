// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Why HTTP/2 fields are rejected.
package struct HTTP2FieldsRejection: Error, Sendable, Hashable {
    /// The status and reason, as of an HTTP/1.1 head.
    package let rejection: WireRejection
    /// Whether the message is malformed, so that its stream is reset without a response.
    ///
    /// RFC 9113 §8.1.1.
    package let isMalformed: Bool

    /// Well-formed fields that are rejected like the same head of HTTP/1.1.
    static func rejected(_ rejection: WireRejection) -> HTTP2FieldsRejection {
        HTTP2FieldsRejection(rejection: rejection, isMalformed: false)
    }

    /// Fields that two parsers could take for different messages.
    static func malformed(_ reason: Failure.Reason) -> HTTP2FieldsRejection {
        HTTP2FieldsRejection(rejection: .malformed(reason), isMalformed: true)
    }
}
