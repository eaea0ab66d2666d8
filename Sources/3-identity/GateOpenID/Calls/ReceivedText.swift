// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Received text made fit for the detail of a failure.
enum ReceivedText {
    /// How many elements of a received list are shown.
    private static let maxElements = 8

    /// At most 200 characters, everything but visible ASCII and spaces escaped, so that a line break stays one line.
    static func quoted(_ text: some StringProtocol) -> String {
        var shown = ""
        for scalar in text.unicodeScalars.prefix(200) {
            shown += scalar.escaped(asASCII: true)
        }
        return "\"\(shown)\(text.unicodeScalars.count > 200 ? "..." : "")\""
    }

    /// A received value: texts quoted, numbers as they were written, lists up to 8 elements, and of all else the kind.
    static func shown(_ value: JSON?) -> String {
        switch value {
        case nil: "absent"
        case .string(let text)?: self.quoted(text)
        case .number(let text)?: String(text.prefix(40))
        case .array(let elements)?: self.shown(elements)
        case .object?: "an object"
        case .bool(let flag)?: "\(flag)"
        case .null?: "null"
        }
    }

    /// A received time, with its difference from now: `1790000161, 161 s after the time here`.
    static func time(_ value: JSON?, at now: Instant) -> String {
        guard let time = value?.numericDate else { return self.shown(value) }
        let (difference, isBefore) = time < now ? (now.since(time), true) : (time.since(now), false)
        return "\(self.shown(value)), \(difference.wholeSeconds) s \(isBefore ? "before" : "after") the time here"
    }

    /// Texts of ours or of the provider's as a list.
    static func list(_ texts: some Collection<String>) -> String {
        self.shown(texts.map(JSON.string))
    }

    private static func shown(_ elements: [JSON]) -> String {
        let texts = elements.prefix(self.maxElements).map { element in
            if case .array = element { "a list" } else { self.shown(element) }
        }
        return "[\(texts.joined(separator: ", "))\(elements.count > self.maxElements ? ", ..." : "")]"
    }
}
