// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// A point on the wall clock, in whole seconds since 1970-01-01 UTC.
///
/// Only tokens, cookies, sessions and certificates are measured with it; time-outs run on the monotonic clock.
package struct Instant: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// Seconds since 1970-01-01 UTC.
    package let seconds: Int64

    /// Makes the instant that many seconds after 1970-01-01 UTC.
    package init(seconds: Int64) {
        self.seconds = seconds
    }

    /// The instant `duration` later; a result outside 64 bits stops at the end of the range.
    package func advanced(by duration: Duration) -> Instant {
        let (sum, overflow) = self.seconds.addingReportingOverflow(duration.components.seconds)
        guard overflow else { return Instant(seconds: sum) }
        return Instant(seconds: duration < .zero ? .min : .max)
    }

    /// How long it is from `earlier` to this instant.
    package func since(_ earlier: Instant) -> Duration {
        .seconds(self.seconds.subtractingReportingOverflow(earlier.seconds).partialValue)
    }

    /// The number of seconds, as logs and claims carry it.
    package var description: String { String(self.seconds) }

    /// Earlier instants come first.
    package static func < (left: Instant, right: Instant) -> Bool {
        left.seconds < right.seconds
    }
}

/// The clock of the gateway; injected, so that a test can set it.
package struct WallClock: Sendable {
    private let read: @Sendable () -> Instant
    private let readMilliseconds: @Sendable () -> Int64

    /// A clock that calls `read` each time; its milliseconds are those of whole seconds.
    package init(_ read: @escaping @Sendable () -> Instant) {
        self.init(read, milliseconds: { read().seconds &* 1000 })
    }

    /// A clock that calls `read` each time for the milliseconds since 1970-01-01 UTC.
    package init(milliseconds read: @escaping @Sendable () -> Int64) {
        self.init({ Instant(seconds: read() / 1000) }, milliseconds: read)
    }

    private init(_ read: @escaping @Sendable () -> Instant, milliseconds: @escaping @Sendable () -> Int64) {
        self.read = read
        self.readMilliseconds = milliseconds
    }

    /// The time now.
    package var now: Instant { self.read() }

    /// The time now in milliseconds since 1970-01-01 UTC, to order what happens within a second.
    package var milliseconds: Int64 { self.readMilliseconds() }

    /// The system's clock.
    package static let system = WallClock(milliseconds: { Int64(Date().timeIntervalSince1970 * 1000) })

    /// A clock that always returns `instant`.
    package static func fixed(_ instant: Instant) -> WallClock {
        WallClock { instant }
    }
}
