// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import Synchronization

/// What a client presented, and what the last verification of it found.
///
/// It is verified again when the result does not hold any more: the certificate or a revocation list has expired, or other authorities
/// or revocation lists were loaded.
package final class PresentedCertificate: Sendable {
    struct Known {
        let status: CertificateStatus
        /// Kept, so that no other one can have its place in memory.
        let authority: CertificateAuthority
        let from: Instant
        let until: Instant
    }

    struct State {
        var chain: [[UInt8]] = []
        /// What was too much of a chain that is not kept, since it is never accepted.
        var excess: String?
        var known: Known?
    }

    /// How many bytes one certificate may have, and all that a client presents.
    package static let maxSize = 16 * 1024
    private static let maxTotal = 64 * 1024
    /// How long a rejection holds: it may be the clock, or a list that is replaced.
    private static let rejectionLifetime = Duration.seconds(10)

    let state = Mutex(State())

    /// Nothing yet.
    package init() {}

    /// Certificates in DER, that of the client first.
    package convenience init(_ chain: [[UInt8]]) {
        self.init()
        self.note(chain)
    }

    /// Takes what a client has presented.
    func note(_ chain: [[UInt8]]) {
        let excess = PresentedCertificate.excess(of: chain.map(\.count))
        self.state.withLock { $0 = State(chain: excess == nil ? chain : [], excess: excess) }
    }

    /// What is known of the certificate, by an authority and at a time.
    package func status(by authority: CertificateAuthority, at now: Instant) -> CertificateStatus {
        self.state.withLock { state in
            guard !state.chain.isEmpty || state.excess != nil else { return .missing }
            if let known = state.known, known.authority === authority, known.from <= now, now < known.until {
                return known.status
            }
            let known = PresentedCertificate.known(of: state, by: authority, at: now)
            state.known = known
            return known.status
        }
    }

    /// What is too much of certificates of these sizes; nil if nothing is.
    private static func excess(of sizes: [Int]) -> String? {
        guard sizes.count <= CertificateAuthority.maxPresented else { return "\(sizes.count) certificates" }
        let total = sizes.reduce(0, +)
        return sizes.allSatisfy { $0 <= self.maxSize } && total <= self.maxTotal ? nil : "\(total) bytes"
    }

    private static func known(of state: State, by authority: CertificateAuthority, at now: Instant) -> Known {
        func rejected(_ rejection: CertificateRejection, _ detail: String) -> Known {
            let status = CertificateStatus.rejected(rejection, detail: detail)
            return Known(
                status: status,
                authority: authority,
                from: now,
                until: now.advanced(by: PresentedCertificate.rejectionLifetime)
            )
        }
        if let excess = state.excess { return rejected(.malformed, excess) }
        let verification = authority.verify(state.chain, at: now)
        if let rejection = verification.verdict { return rejected(rejection, verification.reason) }
        guard let certificate = ClientCertificate(verification, of: state.chain) else {
            return rejected(.malformed, "a name in it cannot be read")
        }
        return Known(
            status: .verified(certificate),
            authority: authority,
            from: verification.from,
            until: verification.until
        )
    }
}
