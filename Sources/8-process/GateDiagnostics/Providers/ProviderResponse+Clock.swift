// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateOpenID

extension ProviderResponse {
    /// The host's clock when it sent the response; nil if its headers have no time.
    ///
    /// A cache keeps the `Date` of what it stores and adds `Age`. RFC 9111 §5.1.
    var clock: Instant? {
        guard let made = self.header("date").flatMap({ Instant(httpDate: $0) }) else { return nil }
        guard let age = self.header("age") else { return made }
        guard age.utf8.count <= 8, let seconds = Int64(age), seconds >= 0 else { return nil }
        return made.advanced(by: .seconds(seconds))
    }
}

extension Instant {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// An IMF-fixdate such as `Sun, 06 Nov 1994 08:49:37 GMT`, or nil; the two obsolete forms are not read.
    ///
    /// RFC 9110 §5.6.7.
    init?(httpDate text: String) {
        guard text.utf8.count == 29 else { return nil }
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 6, words[0].hasSuffix(","), words[5] == "GMT" else { return nil }
        let times = words[4].split(separator: ":", omittingEmptySubsequences: false)
        guard times.count == 3, let month = Instant.months.firstIndex(of: String(words[2])) else { return nil }
        guard let day = Instant.number(words[1], 2, 1...31), let year = Instant.number(words[3], 4, 1970...9999),
            let hour = Instant.number(times[0], 2, 0...23), let minute = Instant.number(times[1], 2, 0...59),
            let second = Instant.number(times[2], 2, 0...60),
            let midnight = Instant(year: year, month: Int64(month) + 1, day: day)
        else { return nil }
        self.init(seconds: midnight.seconds + (hour * 60 + minute) * 60 + second)
    }

    private static func number(_ text: Substring, _ digits: Int, _ range: ClosedRange<Int64>) -> Int64? {
        guard text.utf8.count == digits, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int64(text).flatMap { range.contains($0) ? $0 : nil }
    }
}
