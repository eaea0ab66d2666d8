// SPDX-License-Identifier: Apache-2.0

import GateTestSupport
import Testing

@testable import GateCore

/// B-05: times and sizes from outside never trap.
@Suite struct NumberTests {
    private static let durations =
        HostileNumbers.integers.flatMap { [Duration.seconds($0), .milliseconds($0), .nanoseconds($0)] }
        + [.seconds(Int64.max) + .seconds(Int64.max), .seconds(Int64.min) + .seconds(Int64.min)]

    @Test(arguments: HostileNumbers.integers)
    func `B-05: a time outside the years 1 to 9999 is the first or the last of them`(seconds: Int64) {
        let instant = Instant(seconds: seconds)
        #expect(instant.seconds == min(max(seconds, -62_135_596_800), 253_402_300_799))
        #expect(Instant.distantPast <= instant && instant <= .distantFuture)
        #expect(
            instant.date.utf8.count == 10 && instant.timestamp.utf8.count == 20 && instant.httpDate.utf8.count == 29
        )
        #expect(JSON.int(instant.seconds).numericDate == (seconds < 0 ? nil : instant))
    }

    @Test(arguments: HostileNumbers.integers)
    func `B-05: what is between two times has the sign of their order and fits in milliseconds`(seconds: Int64) {
        let one = Instant(seconds: seconds)
        for other in HostileNumbers.integers.map(Instant.init(seconds:)) {
            let time = one.since(other)
            #expect((time > .zero) == (one > other) && (time < .zero) == (one < other))
            #expect(other.advanced(by: time) == one)
            #expect(time.wholeSeconds == one.seconds - other.seconds)
            #expect(time.wholeMilliseconds == (one.seconds - other.seconds) * 1000)
            #expect(one.days(from: other) == Int64((Double(one.seconds - other.seconds) / 86_400).rounded(.down)))
        }
    }

    @Test(arguments: durations) func `B-05: a time moves in the direction of any duration`(duration: Duration) {
        for start in HostileNumbers.integers.map(Instant.init(seconds:)) {
            let end = start.advanced(by: duration)
            #expect(duration >= .zero ? end >= start : end <= start)
        }
    }

    @Test(arguments: durations) func `B-05: whole numbers of any duration can be added`(duration: Duration) {
        for whole in [duration.wholeSeconds, duration.wholeMilliseconds, duration.wholeNanoseconds] {
            #expect(!whole.addingReportingOverflow(whole).overflow && !whole.addingReportingOverflow(1).overflow)
            #expect(whole == 0 || (whole > 0) == (duration > .zero))
        }
    }

    @Test func `a duration is cut off, not rounded`() {
        let time = Duration.seconds(3) + .nanoseconds(999_999_999)
        #expect((time.wholeSeconds, time.wholeMilliseconds, time.wholeNanoseconds) == (3, 3999, 3_999_999_999))
        #expect(((.zero - time).wholeSeconds, (.zero - time).wholeMilliseconds) == (-3, -3999))
        #expect(Duration.seconds(253_402_300_799).wholeMilliseconds == 253_402_300_799_000)
    }

    @Test(
        arguments: [
            (0, 0), (-0.9, 0), (1.9, 1), (-1.9, -1), (.nan, 0), (.infinity, .max), (-.infinity, .min), (9.3e18, .max),
            (-9.3e18, .min), (9_223_372_036_854_775_808, .max), (9_223_372_036_854_774_784, 9_223_372_036_854_774_784),
            (-9_223_372_036_854_775_808, .min), (1e300, .max), (1e-300, 0),
        ] as [(Double, Int64)]
    )
    func `B-05: a floating-point number becomes the nearest whole one`(number: Double, whole: Int64) {
        #expect(Int64(saturating: number) == whole)
        #expect(Int(saturating: number) == Int(whole))
        #expect(UInt64(saturating: number) == (number > 1e19 ? .max : number < 1 || number.isNaN ? 0 : UInt64(number)))
        #expect(UInt8(saturating: number) == UInt8(clamping: whole))
    }

    @Test(arguments: HostileNumbers.json) func `B-05: a number of JSON is a time, a whole number, or neither`(
        text: String
    )
        throws
    {
        let number = try JSON(parsing: text.utf8)
        #expect(number.integer == Int64(text))
        let value = try #require(Double(text))
        let isDate = value >= 0 && value <= 9_007_199_254_740_992
        #expect((number.numericDate != nil) == isDate)
        if isDate { #expect(number.numericDate == Instant(seconds: Int64(value))) }
        #expect(try JSON(parsing: number.encoded) == number)
    }

    @Test(arguments: HostileNumbers.texts) func `B-05: a text that is not a date is rejected`(text: String) {
        #expect(Instant(date: text) == nil)
        #expect(Instant(date: "\(text)-01-01") == nil)
    }
}
