// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateIssuer
package import GateOperations
package import GateSessions

/// What a reload cannot change: made once for a process, and the same in each of its configurations.
package final class Services: Sendable {
    package let log: RequestLog
    package let metrics = IngressMetrics()
    package let clock: WallClock
    package let random: RandomBytes
    /// The limits on sign-ins.
    package let signIns: SignInLimiter
    /// The limits on session transfers.
    package let transfers = TransferLimiter()
    /// The limits on sign-ins that clients begin for another device.
    package let devices = DeviceLimiter()
    /// The proofs of keys that were accepted.
    package let proofs = ProofReplays()
    /// The limits on clients without an entry in the file.
    package let openClients = NetworkLimiter(of: "new clients")
    /// The limits on exchanges of tokens of issuers.
    package let exchanges = NetworkLimiter(of: "exchanges of tokens of issuers")
    /// The re-checks in progress.
    package let rechecks = Rechecks()

    /// Services with nothing counted yet.
    package init(
        log: RequestLog,
        signIns: SignInLimiter = SignInLimiter(),
        clock: WallClock = .system,
        random: RandomBytes = .system
    ) {
        self.log = log
        self.signIns = signIns
        self.clock = clock
        self.random = random
    }
}
