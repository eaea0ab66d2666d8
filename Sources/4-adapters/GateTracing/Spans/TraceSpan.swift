// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// One span: what was done, from when to when, and for whom.
package struct TraceSpan: Sendable {
    /// The role in the exchange; the numbers are those of OTLP.
    package enum Kind: UInt64, Sendable {
        /// Within the gateway.
        case inside = 1
        /// A request from a client.
        case server = 2
        /// A request to a provider or an app.
        case client = 3
    }

    /// The value of an attribute.
    package enum Value: Sendable, Hashable {
        case text(String)
        case number(Int)
    }

    /// The trace, and the id of the span.
    package let context: TraceContext
    /// The span that caused it; nil for the first of a trace.
    package let parent: SpanID?
    /// Whether the span that caused it is one of another process.
    package let isParentRemote: Bool
    /// What it is, with few different values.
    package var name: String
    /// The role.
    package let kind: Kind
    /// When it began, in nanoseconds since 1970-01-01 UTC.
    package let began: UInt64
    package var ended: UInt64
    package var hasFailed = false
    /// What else is known about it.
    package private(set) var attributes: [(key: SpanAttribute, value: Value)] = []

    /// A span that has just begun.
    package init(
        _ name: String,
        _ kind: Kind,
        context: TraceContext,
        parent: SpanID?,
        isParentRemote: Bool = false,
        began: UInt64
    ) {
        self.name = name
        self.kind = kind
        self.context = context
        self.parent = parent
        self.isParentRemote = isParentRemote
        self.began = began
        self.ended = began
    }

    /// The longest text of an attribute, in bytes of UTF-8; what is longer is cut off.
    package static let maxText = 1024

    /// Adds a text.
    package mutating func set(_ key: SpanAttribute, _ text: String) {
        self.attributes.append((key, .text(TraceSpan.limited(text))))
    }

    /// Adds a number.
    package mutating func set(_ key: SpanAttribute, _ number: Int) {
        self.attributes.append((key, .number(number)))
    }

    /// Adds why it failed.
    package mutating func fail(_ type: String) {
        self.hasFailed = true
        self.set(.errorType, type)
    }

    private static func limited(_ text: String) -> String {
        guard text.utf8.count > TraceSpan.maxText else { return text }
        var limited = Substring(text.unicodeScalars.prefix(TraceSpan.maxText))
        while limited.utf8.count > TraceSpan.maxText { limited.unicodeScalars.removeLast() }
        return String(limited)
    }

    /// The time now, in nanoseconds since 1970-01-01 UTC.
    package static var now: UInt64 { UInt64(max(0, Date().timeIntervalSince1970) * 1_000_000_000) }
}
