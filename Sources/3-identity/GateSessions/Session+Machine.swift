// SPDX-License-Identifier: Apache-2.0

package import GateCore

extension Session {
    /// The session while the token of a machine is accepted: it is never stored, and no cookie leads to it.
    ///
    /// - Parameters:
    ///   - profile: The user of the token.
    ///   - id: A random id, which is the `sid` of assertions.
    ///   - family: What is the same for each verification of one token.
    ///   - now: When the token was verified.
    /// - Returns: The session.
    package static func machine(_ profile: Profile, id: String, family: String, now: Instant) -> Session {
        Session(
            id: id,
            family: family,
            profile: profile,
            host: "",
            created: now,
            lastSeen: now,
            endSession: nil,
            confirmed: now
        )
    }
}
