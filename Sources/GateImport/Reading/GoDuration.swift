// SPDX-License-Identifier: Apache-2.0

extension Duration {
    /// Reads a duration as Go writes it: `168h0m0s`, `1h30m`, `1.5h`, `300ms`; `0` without a unit.
    ///
    /// Nil for anything else, and beyond ten years.
    init?(go text: String) {
        guard text != "0" else {
            self = .zero
            return
        }
        var rest = text[...]
        var sum = 0.0
        guard !rest.isEmpty, text.utf8.count <= 64 else { return nil }
        while !rest.isEmpty {
            let digits = rest.prefix { ("0"..."9").contains($0) || $0 == "." }
            let unit = rest[digits.endIndex...].prefix { !("0"..."9").contains($0) && $0 != "." }
            guard let number = Double(digits), number.isFinite, let seconds = Duration.goUnits[String(unit)] else {
                return nil
            }
            sum += number * seconds
            rest = rest[unit.endIndex...]
        }
        guard (0...315_360_000).contains(sum) else { return nil }
        self = .milliseconds(Int64(sum * 1000))
    }

    private static let goUnits: [String: Double] = [
        "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800,
    ]

    /// The time in whole seconds within bounds; it is rounded up.
    func clamped(_ bounds: ClosedRange<Int>) -> Duration {
        let (seconds, rest) = self.components
        return .seconds(min(max(Int(seconds) + (rest > 0 ? 1 : 0), bounds.lowerBound), bounds.upperBound))
    }
}
