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
    ]
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
