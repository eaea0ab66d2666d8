// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Foundation
internal import GateCore

/// A time on the command line: `2026-11-22T10:00:00Z`, or `2026-11-22` for its first second in UTC.
struct TimeArgument: ExpressibleByArgument, Sendable, Equatable {
    let instant: Instant

    init?(argument: String) {
        let text = argument.count == 10 ? "\(argument)T00:00:00Z" : argument
        guard let date = try? Date(text, strategy: .iso8601), date.timeIntervalSince1970 >= 0 else { return nil }
        self.instant = Instant(seconds: Int64(saturating: date.timeIntervalSince1970))
    }

    /// A time as it could be given, for output; `-` if it is unknown.
    static func text(_ seconds: JSON?) -> String {
        guard let seconds = seconds?.integer else { return "-" }
        return Instant(seconds: seconds).timestamp
    }
}
