// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateCore
import Testing

@Suite struct CalendarDateTests {
    @Test(
        arguments: [
            ("1970-01-01", 0), ("2000-02-29", 951_782_400), ("2000-03-01", 951_868_800), ("2027-06-01", 1_811_808_000),
            ("2028-02-29", 1_835_395_200), ("2100-03-01", 4_107_542_400), ("9999-12-31", 253_402_214_400),
        ] as [(String, Int64)]
    )
    func `a day is its first second in UTC, as the command date prints it`(text: String, seconds: Int64) {
        #expect(Instant(date: text)?.seconds == seconds)
        #expect(Instant(seconds: seconds).date == text)
        #expect(Instant(seconds: seconds + 86_399).date == text)
    }

    @Test(arguments: [
        "", "2027", "2027-06", "2027-6-1", "27-06-01", "2027-06-01 ", " 2027-06-01", "2027/06/01", "01-06-2027",
        "2027-06-01T00:00:00Z", "2027-13-01", "2027-00-01", "2027-06-00", "2027-06-31", "2027-02-29", "2100-02-29",
        "1969-12-31", "+027-06-01", "-027-06-01", "2027--6-01", "2027-06-+1", "\u{0662}027-06-01",
    ])
    func `a day that the calendar does not have is rejected`(text: String) {
        #expect(Instant(date: text) == nil)
    }

    @Test func `every day of four centuries agrees with Foundation`() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(secondsFromGMT: 0))
        // A step that is prime to the week, the month and the year meets every kind of day.
        for day in stride(from: Int64(0), to: 146_097, by: 11) {
            let instant = Instant(seconds: day * 86_400)
            let date = Date(timeIntervalSince1970: Double(day * 86_400))
            let parts = calendar.dateComponents([.year, .month, .day], from: date)
            let year = Int64(parts.year ?? 0)
            let same = Instant(year: year, month: Int64(parts.month ?? 0), day: Int64(parts.day ?? 0))
            #expect(same == instant)
            #expect(Instant(date: instant.date) == instant)
        }
    }

    /// RFC 9110 §5.6.7.
    @Test(
        arguments: [
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (951_868_799, "Tue, 29 Feb 2000 23:59:59 GMT"), (-1, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (.max, "Fri, 31 Dec 9999 23:59:59 GMT"),
        ] as [(Int64, String)]
    )
    func `an instant is written as HTTP writes it`(seconds: Int64, date: String) {
        #expect(Instant(seconds: seconds).httpDate == date)
    }

    /// RFC 3339 §5.6.
    @Test(
        arguments: [
            (784_111_777, "1994-11-06T08:49:37Z"), (0, "1970-01-01T00:00:00Z"), (951_868_799, "2000-02-29T23:59:59Z"),
            (-1, "1970-01-01T00:00:00Z"), (.max, "9999-12-31T23:59:59Z"),
        ] as [(Int64, String)]
    )
    func `an instant is written as logs write it`(seconds: Int64, date: String) {
        #expect(Instant(seconds: seconds).timestamp == date)
    }

    /// RFC 3339 §5.6 and §5.8.
    @Test(
        arguments: [
            ("1994-11-06T08:49:37Z", 784_111_777), ("1970-01-01T00:00:00Z", 0), ("2000-02-29t23:59:59z", 951_868_799),
            ("2026-12-31T18:00:00+01:00", 1_798_736_400), ("2026-12-31 12:00:00-05:00", 1_798_736_400),
            ("2026-12-31T22:30:00+05:30", 1_798_736_400), ("1990-12-31T15:59:59-08:00", 662_687_999),
        ] as [(String, Int64)]
    )
    func `a date and time with its zone is one instant`(text: String, seconds: Int64) {
        #expect(Instant(timestamp: text)?.seconds == seconds)
    }

    @Test(arguments: [
        "", "2026-12-31", "2026-12-31T18:00:00", "2026-12-31T18:00Z", "2026-12-31T18:00:00+1:00",
        "2026-12-31T18:00:00+0100",
        "2026-12-31T18:00:00+01", "2026-12-31T24:00:00Z", "2026-12-31T18:60:00Z", "2026-12-31T18:00:60Z",
        "2026-02-29T18:00:00Z",
        "2026-12-31T18:00:00.5Z", "2026-12-31T18:00:00 Z", " 2026-12-31T18:00:00Z", "2026-12-31T18:00:00Z ",
        "26-12-31T18:00:00Z",
        "2026-12-31T18:00:00+24:00", "2026-12-31T18:00:00+01:60", "2026-12-31T-1:00:00Z", "2026-12-31T18:00:00ZZ",
        "1969-12-31T18:00:00Z",
        "2026-12-31T18:00:00Z+01:00", "2026-12-31T18:00:00\u{2212}01:00", "2026-12-31T\u{0661}8:00:00Z",
    ])
    func `what is not a whole date and time with its zone is rejected`(text: String) {
        #expect(Instant(timestamp: text) == nil)
    }

    @Test(
        arguments: [
            (0, 0), (1, 0), (86_399, 0), (86_400, 1), (172_799, 1), (-1, -1), (-86_400, -1), (-86_401, -2),
        ] as [(Int64, Int64)]
    )
    func `whole days are left, and none once the instant is past`(seconds: Int64, days: Int64) {
        let now = Instant(seconds: 1_811_808_000)
        #expect(now.advanced(by: .seconds(seconds)).days(from: now) == days)
    }

    @Test func `what lies outside of the calendar is written as its ends`() {
        #expect(Instant(seconds: -1).date == "1970-01-01")
        #expect(Instant(seconds: .max).date == "9999-12-31")
    }
}
