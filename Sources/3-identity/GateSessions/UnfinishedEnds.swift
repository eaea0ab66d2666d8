// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The records of sessions whose end the store could not write: the store returns them no more, and the user's next attempt
/// goes on where this one ended, with the sign-out at the provider and the revocation of its tokens.
///
/// They are sealed as in the store, so only the ticket of the browser opens one.
final class UnfinishedEnds: Sendable {
    /// The maximum number of records.
    private static let capacity = 256
    /// How long a user may wait before the next attempt.
    private static let time = Duration.seconds(600)

    private struct Noted {
        let record: SessionRecord
        let at: ContinuousClock.Instant
    }

    private let noted = Mutex<[[UInt8]: Noted]>([:])

    func note(_ record: SessionRecord, at now: ContinuousClock.Instant = .now) {
        self.noted.withLock { noted in
            noted = noted.filter { now - $1.at < UnfinishedEnds.time }
            guard noted.count < UnfinishedEnds.capacity else { return }
            noted[record.key] = Noted(record: record, at: now)
        }
    }

    /// A noted record; nil if it is not known.
    func record(for key: [UInt8]) -> SessionRecord? { self.noted.withLock { $0[key]?.record } }

    /// Forgets the records of a family, whose end is written.
    func remove(family: [UInt8]) {
        self.noted.withLock { noted in
            guard !noted.isEmpty else { return }
            noted = noted.filter { $1.record.family != family }
        }
    }
}
