// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders
internal import GateYAML

// MARK: Local accounts

extension Mapping<ProviderDraft> {
    static let localKeys: [Key<ProviderDraft>] = [
        Key(
            "link_lifetime",
            \.linkLifetime,
            .duration(.seconds(600)...(.seconds(30 * 86_400))),
            .of(.linkLifetime, default: .duration(LocalAccountSettings.defaultLinkLifetime), example: "24h"),
            "How long a link is valid by which a user chooses a password, once."
        ),
        Key(
            "breached_passwords",
            \.breachedPasswords,
            .absolutePath,
            .of(.breachedPasswords, default: .words("none"), example: "/var/lib/gatehouse/pwned-passwords.txt"),
            "A file of passwords that no user may choose, since they are publicly known: lines `SHA-1:COUNT`, sorted, as Have I "
                + "Been Pwned publishes them. It may have any size."
        ),
        Key(
            "registration",
            located: \.registration,
            Mapping<RegistrationSettings>.registration.shape,
            .of(.registration, default: .words("off")),
            "Users register themselves, by a link that is sent to their email address; needs `mail`."
        ),
    ]
}

extension Mapping<RegistrationSettings> {
    /// `registration` of a provider of type `local`.
    fileprivate static let registration = Mapping(
        "the registration of users",
        path: "providers.<name>.registration",
        summary: "Who may register for a local account. See [accounts.md](accounts.md#registration).",
        make: { RegistrationSettings() },
        keys: [
            Key(
                "domains",
                over: \.domains,
                .oneOrMany(of: .domain, named: "a domain or a list of them"),
                .init(isRequired: true, example: ["example.com"]),
                "The domains of the email addresses that may, compared as a whole."
            ),
            Key(
                "groups",
                over: \.groups,
                .oneOrMany(of: .text, named: "a group or a list of them"),
                .init(default: .words("none"), example: ["guests"]),
                "The groups that such accounts get."
            ),
        ]
    )
}

extension Shape<String> {
    /// A path of a file of any size that is not read here; a relative path is resolved against the folder of the
    /// configuration file.
    fileprivate static let absolutePath = Shape("a file", schema: Schema.text(pattern: nil)) { node, reading in
        guard let scalar = reading.scalar(node, kind: "a file"), !scalar.text.isEmpty, !scalar.text.utf8.contains(0),
            scalar.text.utf8.count <= 4096
        else { return nil }
        return reading.path(scalar.text)
    }
}

extension ProviderDraft {
    /// The keys that every provider has, a local one included.
    private static let commonKeys: Set<String> = ["type", "name", "icon", "domains"]

    /// Rejects the keys about a server, which local accounts do not have.
    func checkLocal(
        _ written: Mapping<ProviderDraft>.Written,
        _ keys: [Key<ProviderDraft>],
        _ reading: inout DecodingContext
    ) {
        let local = keys.filter { $0.traits.types?.contains(ProviderType.local.name) ?? false }.map(\.name)
        let allowed = ProviderDraft.commonKeys.union(local)
        for key in keys {
            guard !allowed.contains(key.name), let mark = written.keys[key.name] else { continue }
            reading.error("'\(key.name)' is about a server, and type local has none; remove it", at: mark)
        }
    }
}
