// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// The sign-outs of the last minutes, so that each also ends the sign-ins that were in progress meanwhile.
///
/// A sign-out notes its labels before it looks for sessions, and a sign-in looks for them after its session is in the
/// store: so either the sign-out finds the session, or the sign-in finds the sign-out. A sign-in whose callback arrives
/// after the sign-out is a new one and is not concerned. A sign-in reads one entry of the store, in the step that
/// adds its session where the store can do both; only while there are recent sign-outs, one more for each of its labels.
struct RecentSignOuts: Sendable {
    /// How long a sign-out is remembered: longer than a gateway works at a callback.
    static let lifetime = Duration.seconds(300)
    /// How far ahead the clock of another gateway may be, in milliseconds; a time beyond is of a wrong clock, and must not
    /// keep users from signing in until it comes.
    static let clockLeeway: Int64 = 5000

    let entries: any EntryStore
    let clock: WallClock

    /// Notes a sign-out that happens now; returns why it could not.
    func failure(noting labels: [SessionLabel]) async -> Failure? {
        let time = Array("\(self.clock.milliseconds)".utf8)
        let expiry = self.clock.now.advanced(by: RecentSignOuts.lifetime)
        do throws(Failure) {
            // The common entry comes last: who finds it must find the others.
            for key in labels.map(RecentSignOuts.key) + [RecentSignOuts.latest] {
                try await self.entries.put([StoreEntry(kind: .signOut, key: key, value: time, expires: expiry)])
            }
            return nil
        } catch {
            return error
        }
    }

    /// Rejects a sign-in if the user of a session in the store was signed out since the sign-in began.
    ///
    /// - Parameters:
    ///   - session: The session.
    ///   - began: When the callback arrived; nil for no check.
    ///   - insertion: How the session was added.
    /// - Throws: `signin.signed_out`, or the failure of the store.
    func check(
        _ session: Session,
        began: Int64?,
        after insertion: StoreInsertion
    ) async throws(Failure) {
        guard let began else { return }
        guard try await self.isAny(after: insertion) else { return }
        let end = self.clock.milliseconds + RecentSignOuts.clockLeeway
        for label in session.labels {
            guard let time = try await self.time(of: label) else { continue }
            guard time <= began || time > end else {
                throw Failure(.signInSignedOut, "\(session.profile.user) was signed out during the sign-in")
            }
        }
    }

    /// Whether there are recent sign-outs, of any user.
    private func isAny(after insertion: StoreInsertion) async throws(Failure) -> Bool {
        if case .addedReading(let entry) = insertion { return entry != nil }
        do throws(Failure) {
            return try await self.entries.entry(.signOut, RecentSignOuts.latest, at: self.clock.now) != nil
        } catch  where error.reason == .sessionStoreDamaged {
            // The entries of the labels are looked at then.
            return true
        }
    }

    /// The time of the latest sign-out of a label.
    ///
    /// One that cannot be read is a failure, never the absence of a sign-out, and is replaced: the next sign-in succeeds.
    private func time(of label: SessionLabel) async throws(Failure) -> Int64? {
        do throws(Failure) {
            let entry = try await self.entries.entry(.signOut, RecentSignOuts.key(of: label), at: self.clock.now)
            guard let entry else { return nil }
            guard let time = Int64(String(decoding: entry.value, as: UTF8.self)) else {
                throw Failure(.sessionStoreDamaged, "the store has a time of a sign-out that is not a number")
            }
            return time
        } catch  where error.reason == .sessionStoreDamaged {
            throw await self.failure(noting: [label]) ?? error
        }
    }

    private static func key(of label: SessionLabel) -> [UInt8] { digest("sign-out/label", label.hash) }
    /// The key of the entry that is there while any sign-out is remembered.
    static let latest = digest("sign-out", "latest".utf8)
}
