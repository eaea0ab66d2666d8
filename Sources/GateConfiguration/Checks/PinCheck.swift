// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders

// What holds for one set by itself.
extension PinSetDraft {
    /// Notes what was written, and checks what does not depend on a set above.
    mutating func check(
        _ written: Mapping<PinSetDraft>.Written,
        alternatives: [String],
        _ reading: inout DecodingContext
    ) {
        self.mark = written.mark
        self.written = Set(written.keys.keys)
        if self.written.isDisjoint(with: alternatives) {
            let preset = alternatives.contains("preset") ? ", or the name of a list as 'preset'" : ""
            let help = "write the pins as 'sha256'\(preset)"
            reading.error("there is no pin here; \(help)", at: written.mark)
        }
        guard let match = self.match else { return }
        if self.written.contains("preset"), match.value != .chain {
            let message = "the pins of a preset are those of roots, so its 'match' is 'chain'; remove this"
            reading.error(message, at: match.mark)
        } else if match.value == .certificate {
            let message = "every renewal makes a new certificate, which these pins do not match; 'public_key' can last"
            reading.warning(message, at: match.mark)
        }
    }
}

// What holds for all sets of a provider together.
extension PinSetDraft {
    /// Checks the set and those of its hosts, now that it is known what they inherit.
    func checkTogether(_ reading: inout DecodingContext) {
        guard self.unreadable.isSubset(of: ["sha256", "preset"]) else { return }
        let hosts = (self.hosts ?? []).map(\.value)
        self.checkCount(below: nil, &reading)
        if hosts.allSatisfy({ $0.expires == nil || $0.onExpiry != nil }) {
            self.checkExpiry(below: nil, &reading)
        }
        for host in hosts {
            host.checkCount(below: self, &reading)
            host.checkExpiry(below: self, &reading)
        }
    }

    private func checkCount(below above: PinSetDraft?, _ reading: inout DecodingContext) {
        let set = self.set(below: above)
        guard self.unreadable.isEmpty, set.pins.count == 1, set.mode == .enforce, let mark = self.sha256?.mark else {
            return
        }
        guard self.allowsSinglePin ?? above?.allowsSinglePin == true else {
            return reading.error(
                "a key that is replaced would lock everybody out; add the pin of a backup key, which 'gatehouse pins' "
                    + "prints, or write 'allow_single_pin: true'",
                at: mark
            )
        }
        guard set.match != .chain else { return }
        reading.warning(
            "with a single pin the next renewal with a new key stops all sign-ins; add the pin of a backup key",
            at: mark
        )
    }

    private func checkExpiry(below above: PinSetDraft?, _ reading: inout DecodingContext) {
        guard self.unreadable.isEmpty, let onExpiry = self.onExpiry, self.set(below: above).expires == nil else {
            return
        }
        reading.warning("'on_expiry' has no effect without 'expires'", at: onExpiry.mark)
    }
}

extension PinSetDraft {
    /// The sets of a provider.
    var policy: PinPolicy {
        let hosts = (self.hosts ?? []).map { (Origin.normalHost($0.name) ?? $0.name, $0.value.set(below: self)) }
        return PinPolicy(standard: self.set(below: nil), hosts: Dictionary(hosts) { first, _ in first })
    }

    /// The set, of which only what is written above is inherited, never what holds there by default.
    private func set(below above: PinSetDraft?) -> PinSet {
        let pins = (self.sha256?.value ?? []).map(\.value)
        let others = (self.preset?.pins ?? []).filter { !pins.contains($0) }
        let match = self.match?.value ?? above?.match?.value
        return PinSet(
            match: self.preset == nil ? match ?? .publicKey : .chain,
            mode: self.mode ?? above?.mode ?? (self.preset == nil ? .enforce : .report),
            pins: pins + others,
            expires: self.expires ?? above?.expires,
            expired: self.onExpiry?.value ?? above?.onExpiry?.value ?? .report,
            preset: self.preset?.name
        )
    }
}

extension ProviderDraft {
    /// Where nothing is encrypted there is no key to compare with a pin.
    func checkPins(_ reading: inout DecodingContext) {
        guard let pins = self.tls?.pins else { return }
        let addresses = [
            ("issuer", self.issuer.flatMap { WebURL($0) }), ("base_url", self.baseURL), ("api_url", self.apiURL),
            ("token_endpoint", self.tokenEndpoint),
        ]
        for case (let name, let address?) in addresses where !address.origin.isSecure {
            reading.error("pins need https, but '\(name)' is plain http; write https or remove 'pins'", at: pins.mark)
        }
    }
}
