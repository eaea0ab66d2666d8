// SPDX-License-Identifier: Apache-2.0

/// Finds the name that was probably meant.
package enum Hint {
    /// The nearest of some names, if one is near enough: one slip in three letters, at least one.
    ///
    /// Letter case, `-` for `_` and two neighbours exchanged count as little or nothing. Of equally near
    /// ones the first wins.
    package static func nearest(to text: String, in names: some Sequence<String>) -> String? {
        let wanted = self.folded(text)
        guard (1...64).contains(wanted.count) else { return nil }
        let limit = max(1, wanted.count / 3)
        var best: (name: String, distance: Int)?
        for name in names.prefix(1000) {
            let candidate = self.folded(name)
            guard abs(candidate.count - wanted.count) <= limit, candidate.count <= 64 else { continue }
            let distance = self.distance(wanted, candidate)
            guard distance <= limit, distance < min(candidate.count, best?.distance ?? .max) else { continue }
            best = (name, distance)
        }
        return best?.name
    }

    private static func folded(_ text: String) -> [UInt8] {
        text.lowercased().utf8.map { $0 == UInt8(ascii: "-") ? UInt8(ascii: "_") : $0 }
    }

    /// Edits from one text to the other, an exchange of neighbours being one (optimal string alignment).
    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var beforeLast: [Int] = []
        var last = Array(0...right.count)
        for row in left.indices {
            var current = [row + 1]
            for column in right.indices {
                let same = left[row] == right[column]
                var cost = min(last[column] + (same ? 0 : 1), last[column + 1] + 1, current[column] + 1)
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    cost = min(cost, beforeLast[column - 1] + 1)
                }
                current.append(cost)
            }
            beforeLast = last
            last = current
        }
        return last[right.count]
    }
}
