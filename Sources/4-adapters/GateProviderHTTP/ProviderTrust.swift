// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The certificates, pins and proxy for the connections to one provider.
package struct ProviderTrust: Sendable, Hashable {
    /// The only certificates to trust, as PEM; nil for the system's.
    package var authorities: [UInt8]?
    /// The keys or certificates that its hosts have to show; nil to trust the authorities only.
    package var pins: PinPolicy?
    /// What is shown to hosts that ask who the gateway is; nil for nothing.
    package var certificate: ShownCertificate?
    /// The http proxy to tunnel through; nil for none.
    package var proxy: WebURL?

    /// Puts the parts together.
    package init(authorities: [UInt8]? = nil, pins: PinPolicy? = nil, proxy: WebURL? = nil) {
        self.authorities = authorities
        self.pins = pins
        self.proxy = proxy
    }

    /// The same trust with every pin set in mode `report`, to look at what a host shows.
    package var reporting: ProviderTrust {
        guard var pins = self.pins else { return self }
        pins.standard = pins.standard.reporting
        pins.hosts = pins.hosts.mapValues(\.reporting)
        var copy = self
        copy.pins = pins
        return copy
    }
}

/// A certificate of the gateway's own with its key, which belong together.
package struct ShownCertificate: Sendable, Hashable {
    /// The file of the chain, for messages.
    package let file: String
    /// The chain, leaf first, as PEM.
    package let chain: [UInt8]
    /// The private key as PEM, without a pass phrase.
    package let key: Secret

    /// Puts the parts together.
    package init(file: String, chain: [UInt8], key: Secret) {
        self.file = file
        self.chain = chain
        self.key = key
    }
}

extension PinSet {
    fileprivate var reporting: PinSet {
        var copy = self
        copy.mode = .report
        copy.expired = .report
        return copy
    }
}
