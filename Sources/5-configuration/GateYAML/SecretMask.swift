// SPDX-License-Identifier: Apache-2.0

/// Masks secrets in the source lines of diagnostics.
///
/// It knows the locations that were read as secrets, and guesses by the words on lines that were not read.
struct SecretMask: Sendable {
    private var columns: [Int: [Range<Int>]] = [:]
    private static let words = ["secret", "secert", "sercet", "password", "passwd"]

    /// Whether the values of a key are never shown.
    static func covers(key: String) -> Bool {
        let folded = key.lowercased()
        return folded.contains("secret") || folded.contains("password")
    }

    /// Masks all from one location to the one before another.
    mutating func conceal(from start: YAMLMark, to end: YAMLMark) {
        guard start < end else { return }
        for line in start.line...min(end.line, start.line + 1000) {
            let first = line == start.line ? start.column : 1
            let last = line == end.line ? end.column : Int.max
            guard first < last else { continue }
            self.columns[line, default: []].append(first..<last)
        }
    }

    /// The line with `*` for each concealed character, so that columns stay where they are.
    func applied(to text: String, line: Int) -> String {
        var ranges = self.columns[line] ?? []
        if let guess = self.guess(in: text) { ranges.append(guess) }
        guard !ranges.isEmpty else { return text }
        var masked = String.UnicodeScalarView()
        for (index, scalar) in text.unicodeScalars.enumerated() {
            let isConcealed = ranges.contains { $0.contains(index + 1) }
            masked.append(isConcealed ? "*" : scalar)
        }
        return String(masked)
    }

    /// The columns of what follows `…secret…:` on a line, unless that is a reference.
    private func guess(in text: String) -> Range<Int>? {
        let folded = text.lowercased()
        guard folded.count == text.count else { return 1..<Int.max }
        guard
            let word = SecretMask.words.compactMap({ folded.firstRange(of: $0) }).min(by: {
                $0.lowerBound < $1.lowerBound
            })
        else { return nil }
        let name = folded[word.upperBound...].prefix { $0.isLetter || $0.isNumber || "_-\"'".contains($0) }
        guard let colon = folded[name.endIndex...].firstIndex(where: { $0 != " " }), folded[colon] == ":" else {
            return nil
        }
        let rest = folded[folded.index(after: colon)...]
        guard let value = rest.firstIndex(where: { !" \"'[".contains($0) }), !folded[value...].hasPrefix("${") else {
            return nil
        }
        let start = folded.unicodeScalars.distance(from: folded.startIndex, to: value) + 1
        return start..<Int.max
    }
}
