// SPDX-License-Identifier: Apache-2.0

extension Instant {
    /// The first instant of a day of the Gregorian calendar, UTC; nil if there is no such day.
    ///
    /// - Parameters:
    ///   - year: 1970 to 9999.
    ///   - month: 1 to 12.
    ///   - day: 1 to the length of the month.
    package init?(year: Int64, month: Int64, day: Int64) {
        guard (1970...9999).contains(year), (1...12).contains(month), day >= 1 else { return nil }
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let lengths: [Int64] = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        guard day <= lengths[Int(month) - 1] else { return nil }
        // Years are counted from March, so that leap days come last.
        let shifted = month <= 2 ? year - 1 : year
        let leapDays = shifted / 4 - shifted / 100 + shifted / 400
        let days = shifted * 365 + leapDays + ((month + 9) % 12 * 153 + 2) / 5 + day - 1 - 719_468
        self.init(seconds: days * 86_400)
    }

    /// The first instant of a day written `2027-06-01`, UTC; nil for anything else.
    ///
    /// RFC 3339 §5.6, `full-date`.
    package init?(date text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        let isDigits = parts.joined().utf8.allSatisfy { (0x30...0x39).contains($0) }
        guard isDigits, parts.map(\.utf8.count) == [4, 2, 2] else { return nil }
        guard let year = Int64(parts[0]), let month = Int64(parts[1]), let day = Int64(parts[2]) else { return nil }
        self.init(year: year, month: month, day: day)
    }

    /// The instant of a date and a time of day with the offset of its zone, such as `2026-12-31T18:00:00+01:00`; nil for anything
    /// else, and for parts of a second.
    ///
    /// RFC 3339 §5.6, `date-time`.
    package init?(timestamp text: String) {
        let bytes = Array(text.utf8)
        // As `2026-12-31T18:00:00`, then the zone.
        guard bytes.count > 19, [UInt8(ascii: "T"), UInt8(ascii: "t"), UInt8(ascii: " ")].contains(bytes[10]),
            let day = Instant(date: String(decoding: bytes[..<10], as: UTF8.self)),
            let time = Instant.seconds(of: bytes[11..<19]), let offset = Instant.offset(of: bytes[19...])
        else { return nil }
        self = day.advanced(by: .seconds(time - offset))
    }

    /// The seconds of a time of day such as `18:00:00`; rules have no leap seconds.
    private static func seconds(of bytes: ArraySlice<UInt8>) -> Int64? {
        let parts = bytes.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false).map(self.twoDigits)
        guard parts.count == 3, let hour = parts[0], let minute = parts[1], let second = parts[2] else { return nil }
        return hour < 24 && minute < 60 && second < 60 ? hour * 3600 + minute * 60 + second : nil
    }

    /// The seconds east of UTC of `Z` or an offset such as `+01:00`.
    private static func offset(of bytes: ArraySlice<UInt8>) -> Int64? {
        guard let sign = bytes.first, !(bytes.count == 1 && sign & 0xDF == UInt8(ascii: "Z")) else {
            return bytes.isEmpty ? nil : 0
        }
        let parts = bytes.dropFirst().split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false).map(
            self.twoDigits
        )
        guard parts.count == 2, let hour = parts[0], let minute = parts[1], hour < 24, minute < 60 else { return nil }
        switch sign {
        case UInt8(ascii: "+"): return hour * 3600 + minute * 60
        case UInt8(ascii: "-"): return -(hour * 3600 + minute * 60)
        default: return nil
        }
    }

    private static func twoDigits(_ bytes: ArraySlice<UInt8>) -> Int64? {
        guard bytes.count == 2, bytes.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return bytes.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
    }

    /// The day that the instant is in, written `2027-06-01`, UTC; at most year 9999, at least 1970.
    package var date: String {
        let days = min(max(self.seconds / 86_400, 0), 2_932_896) + 719_468
        let era = days / 146_097
        let dayOfEra = days % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shifted + 2) / 5 + 1
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        let pad: (Int64) -> String = { $0 < 10 ? "0\($0)" : "\($0)" }
        return "\(year)-\(pad(month))-\(pad(day))"
    }

    /// The instant as HTTP writes it, such as `Sun, 06 Nov 1994 08:49:37 GMT`; at most year 9999, at least 1970.
    ///
    /// RFC 9110 §5.6.7, `IMF-fixdate`.
    package var httpDate: String {
        let names = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        let months = ["", "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let parts = self.date.split(separator: "-")
        let month = months[Int(parts[1]) ?? 0]
        return "\(names[Int(self.bounded / 86_400 % 7)]), \(parts[2]) \(month) \(parts[0]) \(self.timeOfDay) GMT"
    }

    /// The instant as logs write it, such as `1994-11-06T08:49:37Z`; at most year 9999, at least 1970.
    ///
    /// RFC 3339 §5.6, `date-time`.
    package var timestamp: String { "\(self.date)T\(self.timeOfDay)Z" }

    /// The seconds within 1970 to 9999.
    private var bounded: Int64 { min(max(self.seconds, 0), 253_402_300_799) }

    private var timeOfDay: String {
        let pad: (Int64) -> String = { $0 < 10 ? "0\($0)" : "\($0)" }
        return "\(pad(self.bounded / 3600 % 24)):\(pad(self.bounded / 60 % 60)):\(pad(self.bounded % 60))"
    }

    /// Whole days from now to this instant, negative once it is past.
    package func days(from now: Instant) -> Int64 {
        let seconds = self.since(now).wholeSeconds
        return seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400
    }
}
