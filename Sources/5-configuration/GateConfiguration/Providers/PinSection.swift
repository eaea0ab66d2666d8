// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GateProviders
package import GateYAML

/// `pins`, or one of its `hosts`, as the file has it.
package struct PinSetDraft: Sendable {
    /// The keys of the mapping; none if there is only the name of a preset.
    var written: Set<String> = []
    var mark = YAMLMark.start
    var preset: PinPreset?
    var match: Located<PinSet.Match>?
    var mode: PinSet.Mode?
    var sha256: Located<[Located<Pin>]>?
    var expires: Instant?
    var onExpiry: Located<PinSet.Expired>?
    var allowsSinglePin: Bool?
    var hosts: [Named<PinSetDraft>]?

    /// The keys that are written and could not be read.
    var unreadable: Set<String> {
        let missing = [
            "preset": self.preset == nil, "match": self.match == nil, "mode": self.mode == nil,
            "sha256": self.sha256 == nil, "expires": self.expires == nil, "on_expiry": self.onExpiry == nil,
            "allow_single_pin": self.allowsSinglePin == nil,
        ]
        return self.written.filter { missing[$0] == true }
    }
}

extension Mapping<PinSetDraft> {
    /// `providers.<name>.tls.pins`.
    static let pins = Mapping(
        "pins",
        path: path,
        summary: summary,
        keys: presetKeys + contentKeys(withPresets: true) + endKeys + [hosts]
    ) { pins, written, reading in
        pins.check(written, alternatives: ["sha256", "preset", "hosts"], &reading)
        pins.checkTogether(&reading)
    }

    /// An entry of `providers.<name>.tls.pins.hosts`.
    static let hostPins = Mapping(
        "the pins of a host",
        path: path,
        summary: summary,
        keys: presetKeys + contentKeys(withPresets: true) + endKeys
    ) { pins, written, reading in
        pins.check(written, alternatives: ["sha256", "preset"], &reading)
    }

    /// `apps.<name>.upstream.tls.pins`, which has neither presets nor hosts.
    package static let upstreamPins = Mapping(
        "the pins of an upstream",
        path: "apps.<name>.upstream.tls.pins",
        summary: "The keys or certificates that the targets of an app have to present, in addition to a valid chain.",
        keys: contentKeys(withPresets: false) + endKeys
    ) { pins, written, reading in
        pins.check(written, alternatives: ["sha256"], &reading)
        pins.checkTogether(&reading)
    }

    private static let path = "providers.<name>.tls.pins and providers.<name>.tls.pins.hosts.<host>"
    private static let summary =
        "The keys or certificates that the provider's hosts have to present, in addition to a valid chain. The name "
        + "of a preset is short for a mapping with only that `preset`."

    private init(
        _ subject: String,
        path: String,
        summary: String,
        keys: [Key<PinSetDraft>],
        check: @escaping @Sendable (inout PinSetDraft, Written, inout DecodingContext) -> Void
    ) {
        self.init(
            subject,
            path: path,
            summary: summary,
            make: { PinSetDraft() },
            keys: keys,
            check: check
        )
    }

    private static let presetKeys: [Key<PinSetDraft>] = [
        Key(
            "preset",
            \.preset,
            .oneOf("a preset"),
            .init(default: .words("none"), example: "google-roots"),
            "The roots that a provider is known to use, of the list of \(PinPreset.google.date); their pins are valid "
                + "beside those of `sha256`. No provider guarantees such a list."
        )
    ]

    /// The pins and how they match; without presets a set has its own pins only.
    private static func contentKeys(withPresets: Bool) -> [Key<PinSetDraft>] {
        [
            Key(
                "match",
                located: \.match,
                .oneOf("a kind of match"),
                .init(
                    default: withPresets ? .words("`public_key`; with `preset` always `chain`") : "public_key",
                    example: "chain"
                ),
                "What the pins are hashes of: `public_key` of the host's own certificate, the whole `certificate`, or the "
                    + "public key of any certificate of the verified `chain`, its root included."
            ),
            Key(
                "mode",
                \.mode,
                .oneOf("a mode"),
                .init(
                    default: withPresets ? .words("`enforce`; with `preset` `report`") : "enforce",
                    example: "report"
                ),
                "`enforce`: a host that presents none of the pins gets no request; `report`: it is used, and the mismatch logged."
            ),
            Key(
                "sha256",
                located: \.sha256,
                .pins,
                .init(
                    default: withPresets ? .words("those of `preset`") : .words("(required)"),
                    example: [
                        "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=", "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
                    ]
                ),
                "The pins, each the SHA-256 in base64: the one in use first, then those of backup keys; at most 64. "
                    + "`gatehouse pins HOST` prints them."
            ),
        ]
    }

    private static let endKeys: [Key<PinSetDraft>] = [
        Key(
            "expires",
            \.expires,
            .date,
            .init(default: .words("never"), example: "2027-06-01"),
            "The day, from midnight UTC, on which the pins expire."
        ),
        Key(
            "on_expiry",
            located: \.onExpiry,
            .oneOf("an action for expired pins"),
            .init(default: "report"),
            "What happens after that day: `report`, as if that were the mode, or `reject` every connection."
        ),
        Key(
            "allow_single_pin",
            \.allowsSinglePin,
            .flag,
            .init(default: .value(false)),
            "Whether `enforce` is accepted without a backup pin. A replaced key then makes every sign-in fail."
        ),
    ]

    private static let hosts = Key<PinSetDraft>(
        "hosts",
        \.hosts,
        .pinnedHosts,
        .init(default: .words("every host has the pins above")),
        "Other pins for other hosts of the provider, such as those of tokens, keys or the API: the name of a preset, or "
            + "a mapping with these keys except `hosts`. They inherit `mode`, `expires`, `on_expiry`, `allow_single_pin` "
            + "and, without a `preset`, `match` from above where they are written there; pins are not inherited. If "
            + "there are no pins above, every host that is not listed is a mismatch. At most 32. Not within `hosts`."
    )
}

extension Shape<PinSetDraft> {
    /// `providers.<name>.tls.pins`.
    static let pins = named(or: .pins)

    /// The name of a preset, or a mapping.
    fileprivate static func named(or mapping: Mapping<PinSetDraft>) -> Shape {
        let preset = Shape<PinPreset>.oneOf("a preset")
        let whole = mapping.shape
        let kind = "the name of a preset or a mapping with 'sha256'"
        let content = ["sha256", "preset", "hosts"].filter { name in mapping.keys.contains { $0.name == name } }
        var members = whole.schema.object ?? [:]
        members["anyOf"] = .array(content.map { ["required": [.string($0)]] })
        let schema: JSON = ["anyOf": [preset.schema, .object(members)]]
        return Shape("the name of a preset or a mapping", schema: schema, sections: whole.sections) { node, reading in
            switch node.content {
            case .mapping: return whole.read(node, &reading)
            case .scalar where !node.isNull:
                return preset.read(node, &reading).map { PinSetDraft(mark: node.owner, preset: $0) }
            case .scalar, .sequence:
                reading.wrongType(node, kind: kind)
                return nil
            }
        }
    }
}

extension Shape<[Named<PinSetDraft>]> {
    /// `providers.<name>.tls.pins.hosts`: 1 to 32.
    static let pinnedHosts: Shape = {
        let entries = Shape.entries(
            of: Shape<PinSetDraft>.named(or: .hostPins),
            named: "a mapping of hosts to pins",
            rule: .pinnedHost
        )
        var members = entries.schema.object ?? [:]
        members["maxProperties"] = 32
        return Shape(entries.kind, schema: .object(members), sections: entries.sections) { node, reading in
            if case .mapping(let hosts) = node.content, hosts.count > 32 {
                reading.error("more than 32 hosts", at: node.owner)
            }
            return entries.read(node, &reading)
        }
    }()
}

extension NameRule {
    /// The hosts that have pins of their own.
    static let pinnedHost = NameRule(
        subject: "the name of a host",
        pattern: #"^([A-Za-z0-9._\-]+|\[[0-9A-Fa-f:.]+\])$"#,
        reason: { text in
            guard text.contains("://") || !text.contains("/") else { return "it has a path; write the host alone" }
            do throws(InvalidValue) {
                _ = try Origin.host(configured: text)
                return nil
            } catch {
                return "it \(error.message)"
            }
        },
        identity: { Origin.normalHost($0) ?? $0 }
    )
}

// Checks of one set.
extension PinSetDraft {
    /// Keeps which keys were written, and checks what does not depend on a set above.
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
            reading.error("no pin is given; \(help)", at: written.mark)
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

// Checks of all sets of a provider together.
extension PinSetDraft {
    /// Checks the set and those of its hosts, with what they inherit.
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
                "a replaced key would make every sign-in fail; add the pin of a backup key, which 'gatehouse pins' prints, "
                    + "or write 'allow_single_pin: true'",
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
    package var policy: PinPolicy {
        let hosts = (self.hosts ?? []).map { (Origin.normalHost($0.name) ?? $0.name, $0.value.set(below: self)) }
        return PinPolicy(standard: self.set(below: nil), hosts: Dictionary(hosts) { first, _ in first })
    }

    /// The set with what is inherited from the one above: only keys that are written there, never their defaults.
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
