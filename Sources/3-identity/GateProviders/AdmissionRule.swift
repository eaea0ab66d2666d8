// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// A claim that must have one of some values, or the sign-in is denied.
struct AdmissionRule: Sendable {
    /// How the values are compared.
    enum Comparison: Sendable, Hashable {
        /// As host names: letter case does not count.
        case host
        /// Byte by byte.
        case exact
    }

    let source: ClaimSource
    let allowed: [String]
    let comparison: Comparison
    let denial: Failure

    /// Whether the claim has an allowed value; a missing claim has none.
    func admits(_ payloads: ProviderPayloads) -> Bool {
        guard let text = payloads.value(at: self.source)?.string else { return false }
        return switch self.comparison {
        case .exact: self.allowed.contains { isIdentical($0, text) }
        case .host:
            Origin.normalHost(text).map { host in
                self.allowed.contains { Origin.normalHost($0) == host }
            } ?? false
        }
    }
}
