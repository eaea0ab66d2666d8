// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The certificates, pins and proxy for the connections to one provider.
package struct ProviderTrust: Sendable, Hashable {
    /// The only certificates to trust, as PEM; nil for the system's.
    package var authorities: [UInt8]?
    /// The keys or certificates that its hosts have to show; nil to trust the authorities only.
    package var pins: PinPolicy?
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
        return ProviderTrust(authorities: self.authorities, pins: pins, proxy: self.proxy)
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
