// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// A point on the wall clock, in whole seconds since 1970-01-01 UTC, within the years 1 to 9999.
///
/// Only tokens, cookies, sessions and certificates are measured with it; time-outs run on the monotonic clock. A time outside of
/// these years, which a store, a token or a file may have, is the first or the last of them: so no arithmetic on instants, and no
/// number of seconds or milliseconds between two of them, is ever outside 64 bits. RFC 3339 §1 has the same years.
package struct Instant: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// Seconds since 1970-01-01 UTC.
    package let seconds: Int64

    /// Makes the instant that many seconds after 1970-01-01 UTC, or the first or last there is.
    package init(seconds: Int64) {
        self.seconds = min(max(seconds, -62_135_596_800), 253_402_300_799)
    }

    /// Before each other instant.
    package static let distantPast = Instant(seconds: .min)
    /// After each other instant.
    package static let distantFuture = Instant(seconds: .max)

    /// The instant `duration` later, or the first or last there is.
    package func advanced(by duration: Duration) -> Instant {
        Instant(seconds: self.seconds + duration.wholeSeconds)
    }

    /// How long it is from `earlier` to this instant.
    package func since(_ earlier: Instant) -> Duration { .seconds(self.seconds - earlier.seconds) }

    /// The number of seconds, as logs and claims carry it.
    package var description: String { String(self.seconds) }

    /// Earlier instants come first.
    package static func < (left: Instant, right: Instant) -> Bool {
        left.seconds < right.seconds
    }
}

// Whole numbers of durations. One beyond half of 64 bits is that half: so what is added to it, or to another one, fits as well.
extension Duration {
    /// Whole seconds; a fraction is cut off.
    package var wholeSeconds: Int64 { self.whole(1_000_000_000_000_000_000) }

    /// Whole milliseconds; a fraction is cut off.
    package var wholeMilliseconds: Int64 { self.whole(1_000_000_000_000_000) }

    /// Whole nanoseconds; a fraction is cut off.
    package var wholeNanoseconds: Int64 { self.whole(1_000_000_000) }

    private func whole(_ attoseconds: Int128) -> Int64 {
        let half = Int128(Int64.max / 2)
        return Int64(truncatingIfNeeded: min(max(self.attoseconds / attoseconds, -half), half))
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
    package static let system = WallClock(milliseconds: { Int64(saturating: Date().timeIntervalSince1970 * 1000) })

    /// A clock that always returns `instant`.
    package static func fixed(_ instant: Instant) -> WallClock {
        WallClock { instant }
    }
}
