// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Which elements of an array a source looks into: `[primary&&verified]`, `[type=work]`, or `[*]` for all.
///
/// A name alone asks for the value true. At most eight conditions, all of which must hold.
struct ElementFilter: Sendable, Hashable, CustomStringConvertible {
    /// One member of the element and what it must be.
    struct Condition: Sendable, Hashable {
        let name: String
        /// The text or number, as text; nil asks for true.
        let value: String?

        func holds(for element: JSON) -> Bool {
            guard let value = self.value else { return element[self.name]?.profileBool == true }
            return element[self.name]?.profileText.map { isIdentical($0, value) } ?? false
        }
    }

    /// How many elements are looked into; an array that is longer is searched no further.
    static let maxElements = 1000

    let conditions: [Condition]

    var description: String {
        guard !self.conditions.isEmpty else { return "[*]" }
        return "[\(self.conditions.map { $0.name + ($0.value.map { "=\($0)" } ?? "") }.joined(separator: "&&"))]"
    }

    /// The elements that fit; none if the value is not an array.
    func elements(of array: JSON) -> [JSON] {
        (array.array ?? []).prefix(ElementFilter.maxElements).filter { element in
            self.conditions.allSatisfy { $0.holds(for: element) }
        }
    }

    /// The text before, in and after its only brackets; nil if it has none or they are not a filter.
    static func split(_ text: String) -> (start: String, filter: ElementFilter, tail: String)? {
        guard let open = text.firstIndex(of: "["), let close = text.firstIndex(of: "]"), open < close else {
            return nil
        }
        let tail = text[text.index(after: close)...]
        guard !tail.contains("["), !tail.contains("]") else { return nil }
        guard let filter = ElementFilter(text[text.index(after: open)..<close]) else { return nil }
        return (String(text[..<open]), filter, String(tail))
    }

    private init?(_ text: Substring) {
        guard text != "*" else {
            self.conditions = []
            return
        }
        let conditions = text.split(separator: "&&", omittingEmptySubsequences: false).map(Condition.init)
        guard (1...8).contains(conditions.count) else { return nil }
        self.conditions = conditions.compactMap(\.self)
        guard self.conditions.count == conditions.count else { return nil }
    }
}

extension ElementFilter.Condition {
    fileprivate init?(_ text: Substring) {
        let sides = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let name = sides.first, !name.isEmpty, PrintableText.isPrintable(text) else { return nil }
        // Blanks, quotes and a single `&` are slips that would never fit anything.
        let slips = Set(" \t\"'&[|")
        guard !name.contains(where: slips.contains), !(sides.last ?? "").contains(where: { "\"'[".contains($0) }) else {
            return nil
        }
        self.name = name
        self.value = sides.count > 1 ? sides[1] : nil
    }
}
