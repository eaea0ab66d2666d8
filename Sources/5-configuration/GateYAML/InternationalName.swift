// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import GateCore

/// The ASCII form of host names with letters beyond ASCII, as browsers send them.
enum InternationalName {
    /// The ASCII form of a name, such as `xn--bcher-kva.example`; nil for a name of ASCII alone, or one without such a form.
    ///
    /// RFC 5890 §2.3.2.1, with the mapping of RFC 5895 as far as letter case and composition go.
    static func ascii(_ name: some StringProtocol) -> String? {
        let mapped = name.lowercased().precomposedStringWithCanonicalMapping
        guard mapped.unicodeScalars.contains(where: { !$0.isASCII }) else { return nil }
        let labels = mapped.split(separator: ".", omittingEmptySubsequences: false).map { label -> String in
            guard label.unicodeScalars.contains(where: { !$0.isASCII }) else { return String(label) }
            return "xn--" + self.punycode(Array(label.unicodeScalars))
        }
        return Origin.normalHost(labels.joined(separator: "."))
    }

    /// RFC 3492 §6.3, with the parameters of §5.
    private static func punycode(_ scalars: [Unicode.Scalar]) -> String {
        var output = scalars.filter(\.isASCII).map { Character($0) }
        let basic = UInt32(output.count)
        var (next, delta, bias, handled) = (UInt32(128), UInt32(0), UInt32(72), basic)
        if basic > 0 { output.append("-") }
        while handled < scalars.count {
            guard let least = scalars.lazy.map(\.value).filter({ $0 >= next }).min() else { break }
            delta &+= (least - next) &* (handled + 1)
            next = least
            for scalar in scalars {
                if scalar.value < next { delta &+= 1 }
                guard scalar.value == next else { continue }
                output += self.digits(of: delta, bias: bias)
                bias = self.adapted(delta, points: handled + 1, isFirst: handled == basic)
                delta = 0
                handled += 1
            }
            delta &+= 1
            next += 1
        }
        return String(output)
    }

    /// A number as a variable-length integer.
    private static func digits(of number: UInt32, bias: UInt32) -> [Character] {
        let letters = Array("abcdefghijklmnopqrstuvwxyz0123456789")
        var digits: [Character] = []
        var (rest, position) = (number, UInt32(36))
        while true {
            let threshold = position <= bias ? 1 : min(position - bias, 26)
            guard rest >= threshold else { break }
            digits.append(letters[Int(threshold + (rest - threshold) % (36 - threshold))])
            rest = (rest - threshold) / (36 - threshold)
            position += 36
        }
        digits.append(letters[Int(rest)])
        return digits
    }

    /// RFC 3492 §6.1.
    private static func adapted(_ delta: UInt32, points: UInt32, isFirst: Bool) -> UInt32 {
        var delta = isFirst ? delta / 700 : delta / 2
        delta += delta / points
        var steps: UInt32 = 0
        while delta > 455 {
            delta /= 35
            steps += 36
        }
        return steps + 36 * delta / (delta + 38)
    }
}
