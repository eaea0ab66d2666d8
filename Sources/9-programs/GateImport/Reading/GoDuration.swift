// SPDX-License-Identifier: Apache-2.0

internal import GateCore

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
        self = .milliseconds(Int64(saturating: sum * 1000))
    }

    /// Reads a duration as Authelia writes it: a number of seconds, or `1h`, `1 day and 12 hours`, `3M`.
    ///
    /// Nil for anything else, and beyond ten years.
    /// https://www.authelia.com/configuration/prologue/common/#duration
    init?(authelia text: String) {
        guard text.utf8.count <= 64 else { return nil }
        var rest = text.replacing("and", with: "").filter { $0 != " " }[...]
        guard !rest.isEmpty else { return nil }
        guard !rest.allSatisfy({ ("0"..."9").contains($0) }) else {
            guard let seconds = Int64(rest), (0...315_360_000).contains(seconds) else { return nil }
            self = .seconds(seconds)
            return
        }
        var sum = 0.0
        while !rest.isEmpty {
            let digits = rest.prefix { ("0"..."9").contains($0) }
            let unit = rest[digits.endIndex...].prefix { !("0"..."9").contains($0) }
            guard let number = Double(digits), let seconds = Duration.autheliaSeconds(String(unit)) else { return nil }
            sum += number * seconds
            rest = rest[unit.endIndex...]
        }
        guard (0...315_360_000).contains(sum) else { return nil }
        self = .milliseconds(Int64(saturating: sum * 1000))
    }

    private static func autheliaSeconds(_ unit: String) -> Double? {
        if let seconds = self.goUnits[unit] { return seconds }
        let word = unit.count > 1 && unit.hasSuffix("s") ? String(unit.dropLast()) : unit
        return [
            "M": 2_592_000, "y": 31_536_000, "millisecond": 0.001, "second": 1, "minute": 60, "hour": 3600,
            "day": 86_400, "week": 604_800, "month": 2_592_000, "year": 31_536_000,
        ][word]
    }

    private static let goUnits: [String: Double] = [
        "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800,
    ]

    /// The time in whole seconds within bounds; it is rounded up.
    func clamped(_ bounds: ClosedRange<Int>) -> Duration {
        let seconds = Int(self.wholeSeconds)
        let rounded = Duration.seconds(seconds) < self ? seconds + 1 : seconds
        return .seconds(min(max(rounded, bounds.lowerBound), bounds.upperBound))
    }
}
