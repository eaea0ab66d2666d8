// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The result of the pin check in the handshake of a call.
package enum PinVerdict: Sendable, Hashable {
    /// There were no pins, the connection was there already, or TLS failed before.
    case notChecked
    /// A pin of the set, by its number in it, is that of the certificate at a position of the built chain, 0 for the
    /// host's own.
    case matched(pin: Int, position: Int)
    /// No pin of the set is in the chain.
    case mismatched
}

/// A handshake with a host that has pins.
package struct PinnedHandshake: Sendable {
    /// The provider's name in the file.
    package let provider: String
    /// Who was called.
    package let origin: Origin
    /// The pins of that host.
    package let set: PinSet
    /// Whether a mismatch was refused.
    package let isEnforced: Bool
    /// The result of the check; never ``PinVerdict/notChecked``.
    package let verdict: PinVerdict
    /// The chain as built and verified, leaf first; empty if it was too large to be shown.
    package let certificates: [ProviderCertificate]

    /// Describes a handshake.
    package init(
        provider: String,
        origin: Origin,
        set: PinSet,
        isEnforced: Bool,
        verdict: PinVerdict,
        certificates: [ProviderCertificate]
    ) {
        self.provider = provider
        self.origin = origin
        self.set = set
        self.isEnforced = isEnforced
        self.verdict = verdict
        self.certificates = certificates
    }
}
