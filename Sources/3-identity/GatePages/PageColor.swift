// SPDX-License-Identifier: Apache-2.0

package struct PageColor: Sendable, Hashable {
    private let red: Int
    private let green: Int
    private let blue: Int

    /// A color written `#rrggbb`; nil for anything else.
    package init?(_ text: String) {
        guard text.utf8.count == 7, text.hasPrefix("#"), text.dropFirst().allSatisfy(\.isHexDigit),
            let number = Int(text.dropFirst(), radix: 16)
        else { return nil }
        (self.red, self.green, self.blue) = (number >> 16, number >> 8 & 255, number & 255)
    }

    /// The contrast to another color, 1 to 21: WCAG 2.2, contrast ratio.
    package func contrast(to other: PageColor) -> Double {
        let (one, two) = (self.luminance, other.luminance)
        return (max(one, two) + 0.05) / (min(one, two) + 0.05)
    }

    /// WCAG 2.2, relative luminance.
    private var luminance: Double {
        func linear(_ value: Int) -> Double {
            let part = Double(value) / 255
            guard part > 0.04045 else { return part / 12.92 }
            let base = (part + 0.055) / 1.055
            // base^2.4 is base^2 times the fifth root of base^2.
            return base * base * PageColor.fifthRoot(of: base * base)
        }
        return 0.2126 * linear(self.red) + 0.7152 * linear(self.green) + 0.0722 * linear(self.blue)
    }

    /// By Newton's method, since the module needs no library of functions otherwise.
    private static func fifthRoot(of value: Double) -> Double {
        var root = 0.5 + value / 2
        for _ in 0..<24 { root -= (root * root * root * root * root - value) / (5 * root * root * root * root) }
        return root
    }
}
