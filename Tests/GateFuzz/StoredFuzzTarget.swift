// SPDX-License-Identifier: Apache-2.0

import GateCore
import NIOCore

@testable import GateAccounts
@testable import GateRedis
@testable import GateSessions

/// What is read from a store: replies of Redis mean the same however they are divided, and what can be read is written and read again
/// as the same.
enum StoredFuzzTarget {
    static func violation(in input: Input) -> String? {
        input.has(4) ? self.valueViolation(of: input.bytes) : self.replyViolation(of: input)
    }

    // MARK: Replies

    private static func replyViolation(of input: Input) -> String? {
        let limits = input.has(5) ? RESPLimits(bytes: 64, values: 8) : .standard
        let whole = self.values(of: [input.bytes[...]], limits)
        let split = self.values(of: input.pieces, limits)
        guard whole.values == split.values, whole.isRejected == split.isRejected else {
            return "in one piece \(whole), in several \(split)"
        }
        for value in whole.values {
            guard let entry = RedisStore.entry(.notBefore, [1], from: value) else { continue }
            guard RedisStore.value(of: entry) == value.bytes else { return "another value would replace \(entry)" }
        }
        return nil
    }

    private static func values(
        of pieces: [ArraySlice<UInt8>],
        _ limits: RESPLimits
    ) -> (values: [RESPValue], isRejected: Bool) {
        var reader = RESPReader()
        var values: [RESPValue] = []
        do throws(RESPViolation) {
            for piece in pieces {
                reader.append(ByteBuffer(bytes: piece))
                while let value = try reader.next(limits) { values.append(value) }
            }
            return (values, false)
        } catch {
            return (values, true)
        }
    }

    // MARK: Values

    /// The first eight bytes are a time of the record, which is outside of its seal; the others what its seal opens to.
    private static func valueViolation(of bytes: [UInt8]) -> String? {
        let number = bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let (time, plain) = (Instant(seconds: Int64(bitPattern: number)), Array(bytes.dropFirst(8)))
        if let session = Session(encoded: plain, lastSeen: time), let violation = self.violation(of: session, at: time)
        {
            return violation
        }
        if let account = Account(encoded: plain), Account(encoded: account.encoded) != account {
            return "an account is written as another one"
        }
        if let passkeys = UserPasskeys(encoded: plain), UserPasskeys(encoded: passkeys.encoded) != passkeys {
            return "passkeys are written as others"
        }
        var record = SessionRecord(
            key: bytes,
            family: bytes,
            sealed: plain,
            created: time,
            lastSeen: time,
            expires: time
        )
        record.labels = SessionRecord.labels(in: plain)
        guard plain.starts(with: record.labelBytes) else { return "labels are not those of the record" }
        return nil
    }

    private static func violation(of session: Session, at time: Instant) -> String? {
        guard Session(encoded: session.encoded, lastSeen: time) == session else {
            return "a session is written as another one"
        }
        let policy = RecheckPolicy(interval: .seconds(3600), maxStale: .seconds(900))
        let limits = SessionLimits(idle: .seconds(600), lifetime: .seconds(7200))
        for now in [time, session.created, .distantPast, .distantFuture] {
            if policy.state(of: session, at: now) == .stale, policy.validity(of: session, at: now) > .zero {
                return "a session that must not be served is served for longer"
            }
            if limits.admits(session, at: now), now >= session.created.advanced(by: .seconds(7200)) {
                return "a session outlives the limit of an app"
            }
        }
        return nil
    }
}
