// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders

/// What is written of `pins`, or of one of its `hosts`.
struct PinSetDraft: Sendable {
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

    /// `apps.<name>.upstream.tls.pins`, which knows neither presets nor hosts.
    static let upstreamPins = Mapping(
        "the pins of an upstream",
        path: "apps.<name>.upstream.tls.pins",
        summary: "The keys or certificates that the targets of an app have to show, beyond a chain that is valid.",
        keys: contentKeys(withPresets: false) + endKeys
    ) { pins, written, reading in
        pins.check(written, alternatives: ["sha256"], &reading)
        pins.checkTogether(&reading)
    }

    private static let path = "providers.<name>.tls.pins and providers.<name>.tls.pins.hosts.<host>"
    private static let summary =
        "The keys or certificates that the provider's hosts have to show, beyond a chain that is valid. The name "
        + "of a preset stands for a mapping with only that `preset`."

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
            .init(standard: .words("none"), example: "google-roots"),
            "The roots that a provider is known to use, of the list of \(PinPreset.google.date); their pins count beside "
                + "those of `sha256`. No provider promises to keep to such a list."
        )
    ]

    /// What a set is made of; without presets its own pins are all there are.
    private static func contentKeys(withPresets: Bool) -> [Key<PinSetDraft>] {
        [
            Key(
                "match",
                located: \.match,
                .oneOf("a way to match"),
                .init(
                    standard: withPresets ? .words("`public_key`; with `preset` always `chain`") : "public_key",
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
                    standard: withPresets ? .words("`enforce`; with `preset` `report`") : "enforce",
                    example: "report"
                ),
                "`enforce`: a host that shows none of the pins gets no request; `report`: it is used, and the mismatch noted."
            ),
            Key(
                "sha256",
                located: \.sha256,
                .pins,
                .init(
                    standard: withPresets ? .words("those of `preset`") : .words("(required)"),
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
            .init(standard: .words("never"), example: "2027-06-01"),
            "The day, from midnight UTC, on which the pins cease to hold."
        ),
        Key(
            "on_expiry",
            located: \.onExpiry,
            .oneOf("an end of pins"),
            .init(standard: "report"),
            "What holds from then on: `report`, as if that were the mode, or `refuse`, every connection."
        ),
        Key(
            "allow_single_pin",
            \.allowsSinglePin,
            .flag,
            .init(standard: .value(false)),
            "Whether `enforce` may go without a backup. A key that is replaced then locks everybody out."
        ),
    ]

    private static let hosts = Key<PinSetDraft>(
        "hosts",
        \.hosts,
        .pinnedHosts,
        .init(standard: .words("every host has the pins above")),
        "Pins of their own for other hosts of the provider, such as those of tokens, keys or the API: the name of a "
            + "preset, or a mapping with these keys but `hosts`. What is written above of `mode`, `expires`, `on_expiry`, "
            + "`allow_single_pin` and, without a `preset`, `match` holds for them where they do not say otherwise; pins "
            + "are not inherited. If there are no pins above, every host that is not listed is a mismatch. At most 32. "
            + "Not within `hosts`."
    )
}
