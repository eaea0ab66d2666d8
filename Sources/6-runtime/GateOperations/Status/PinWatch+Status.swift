// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviderHTTP

extension PinWatch {
    /// The hosts of all providers, as `/status` shows them.
    package var hostStatus: [GatewayStatus.Host] {
        let (now, hosts) = self.hosts
        return hosts.map { $0.host.status($0.key, now: now) }
    }
}

extension PinnedHost {
    fileprivate func status(_ key: Key, now: Instant) -> GatewayStatus.Host {
        var status = GatewayStatus.Host("\(key.origin)", of: key.provider)
        status.chain = self.chain.enumerated().map { position, certificate in
            GatewayStatus.Host.Certificate(
                position: position,
                subject: certificate.subject,
                publicKeyPin: certificate.publicKeyPin,
                daysLeft: certificate.notAfter.days(from: now),
                pin: self.pin(at: position).map { $0 + 1 }
            )
        }
        status.surveyedAt = self.surveyedAt
        guard let set else { return status }
        var pins = GatewayStatus.Host.Pins()
        pins.match = set.match.rawValue
        pins.mode = set.mode.rawValue
        pins.demand = "\(set.demand(at: now))"
        pins.count = set.pins.count
        pins.unused = self.unusedPins
        pins.preset = set.preset
        pins.expires = set.expires?.date
        pins.daysLeft = set.expires?.days(from: now)
        pins.matchedAt = self.matchedAt
        pins.mismatchedAt = self.mismatchedAt
        pins.isRejected = self.failure != nil
        status.pins = pins
        return status
    }
}
