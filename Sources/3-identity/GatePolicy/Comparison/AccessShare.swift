// SPDX-License-Identifier: Apache-2.0

/// A share of the users of an app, such as `5%`, in steps of a hundredth of a percent.
package struct AccessShare: Sendable, Hashable, CustomStringConvertible {
    /// Hundredths of a percent, 0 to 10,000.
    private let hundredths: Int

    /// Reads `5%`, `0.5%` or `5`; nil for anything else and for more than 100 percent.
    package init?(_ text: String) {
        let number = text.hasSuffix("%") ? text.dropLast() : text[...]
        let parts = number.split(separator: ".", omittingEmptySubsequences: false)
        let isDigits = parts.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }
        guard isDigits, parts.count <= 2, parts[0].count <= 3, parts.count == 1 || parts[1].count <= 2,
            let whole = Int(parts[0]), let fraction = parts.count == 1 ? 0 : Int(parts[1])
        else { return nil }
        let hundredths = whole * 100 + (parts.count == 2 && parts[1].count == 1 ? fraction * 10 : fraction)
        guard hundredths <= 10_000 else { return nil }
        self.hundredths = hundredths
    }

    /// Whether `part` users are more than the share of `all`.
    package func isExceeded(by part: Int, of all: Int) -> Bool { part * 10_000 > self.hundredths * all }

    /// `5%` or `0.5%`.
    package var description: String {
        let (whole, fraction) = self.hundredths.quotientAndRemainder(dividingBy: 100)
        guard fraction > 0 else { return "\(whole)%" }
        return fraction % 10 == 0 ? "\(whole).\(fraction / 10)%" : "\(whole).\(fraction < 10 ? "0" : "")\(fraction)%"
    }
}
