// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The hours of some weekdays in a time zone.
///
/// Hours that end before they begin go on after midnight and belong to the day on which they begin.
package struct TimeWindow: Sendable, Hashable {
    /// The days, 0 for Monday to 6 for Sunday; never empty.
    package var days: Set<Int>
    /// The first minute of the day.
    package var start: Int
    /// The minute of the day after the last one; 1440 for midnight.
    package var end: Int
    package var zone: ZoneOffsets

    /// A window of whole minutes.
    package init(days: Set<Int>, start: Int, end: Int, zone: ZoneOffsets) {
        self.days = days
        self.start = start
        self.end = end
        self.zone = zone
    }

    package func contains(_ instant: Instant) -> Bool {
        let local = instant.seconds + Int64(self.zone.offset(at: instant))
        let day = Int(local.flooredQuotient(86_400))
        let minute = Int(local - Int64(day) * 86_400) / 60
        // 1970-01-01 was a Thursday.
        let weekday = ((day + 3) % 7 + 7) % 7
        guard self.end <= self.start else {
            return self.days.contains(weekday) && minute >= self.start && minute < self.end
        }
        if minute >= self.start { return self.days.contains(weekday) }
        return minute < self.end && self.days.contains((weekday + 6) % 7)
    }
}

/// The offsets of a time zone from UTC in the years that a configuration may be in force.
///
/// They are looked up once for a configuration, so that a decision needs no calendar.
package struct ZoneOffsets: Sendable, Hashable {
    /// An offset and when it begins.
    package struct Change: Sendable, Hashable {
        /// When it begins, in seconds since 1970.
        package let from: Int64
        /// The seconds east of UTC.
        package let offset: Int

        /// Pairs an instant with the offset from then on.
        package init(from: Int64, offset: Int) {
            self.from = from
            self.offset = offset
        }
    }

    /// The IANA name, such as `Europe/Berlin`.
    package let name: String
    private let changes: [Change]

    /// A zone; `changes` are in order, and the first one also holds before.
    package init(name: String, changes: [Change]) {
        self.name = name
        self.changes = changes
    }

    /// The seconds east of UTC at an instant.
    func offset(at instant: Instant) -> Int {
        var (low, high) = (0, self.changes.count)
        while low < high {
            let middle = (low + high) / 2
            if self.changes[middle].from <= instant.seconds { low = middle + 1 } else { high = middle }
        }
        return low > 0 ? self.changes[low - 1].offset : self.changes.first?.offset ?? 0
    }

    /// Two zones with one name are equal.
    package static func == (left: ZoneOffsets, right: ZoneOffsets) -> Bool { left.name == right.name }

    package func hash(into hasher: inout Hasher) { hasher.combine(self.name) }
}

extension Int64 {
    /// The quotient, rounded down.
    fileprivate func flooredQuotient(_ divisor: Int64) -> Int64 {
        self >= 0 ? self / divisor : (self - divisor + 1) / divisor
    }
}
