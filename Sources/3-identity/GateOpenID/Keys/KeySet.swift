// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders

/// The keys of a provider, merged over its responses.
///
/// Two responses of one provider may differ, because they come from different servers; replacing the set each time
/// would reject valid tokens. A named key stays for a while after it was last seen.
struct KeySet: Sendable {
    static let maxCount = 100
    private static let maxEntries = 300
    private static let maxCandidates = 4

    private struct Entry: Sendable {
        let key: JSONWebKey
        let lastSeen: Instant
        let isCurrent: Bool
    }

    private let entries: [Entry]

    /// Parses a response; keys of unknown kinds are skipped.
    ///
    /// RFC 7517 §5.
    init(_ document: JSON, at now: Instant) throws(Failure) {
        guard let keys = document["keys"]?.array, keys.count <= KeySet.maxCount else {
            throw Failure(.openIDKeySet, "the key set has no keys or too many of them")
        }
        self.entries = keys.compactMap { JSONWebKey($0) }.map { Entry(key: $0, lastSeen: now, isCurrent: true) }
        guard !self.entries.isEmpty else {
            throw Failure(.openIDKeySet, "the key set has no key that can be used")
        }
    }

    /// The keys of a response of the issuer, with those of the last one that are kept, and how long they are fresh.
    static func fetched(
        from address: WebURL,
        of definition: ProviderDefinition,
        by call: ProviderCall,
        after earlier: KeySet?,
        clock: WallClock
    ) async throws(Failure) -> (document: KeySet, lifetime: Duration) {
        let document = try await call.document(at: address, limit: 524_288, endpoint: .keys)
        let now = clock.now
        let keys = try KeySet(document.json, at: now)
            .merged(with: earlier, retention: definition.keyRetention, at: now)
        return (keys, document.lifetime)
    }

    private init(_ entries: [Entry]) {
        self.entries = entries
    }

    /// This response together with the named keys of earlier ones that were seen within `retention`.
    func merged(with earlier: KeySet?, retention: Duration, at now: Instant) -> KeySet {
        let names = Set(self.entries.compactMap(\.key.id))
        let kept = (earlier?.entries ?? []).filter { entry in
            guard let id = entry.key.id, !names.contains(id) else { return false }
            return now < entry.lastSeen.advanced(by: retention)
        }
        let old = kept.map { Entry(key: $0.key, lastSeen: $0.lastSeen, isCurrent: false) }
            .sorted { $1.lastSeen < $0.lastSeen }
        return KeySet(self.entries + old.prefix(KeySet.maxEntries - self.entries.count))
    }

    /// The names of the keys, those of the last response first.
    var names: [String] { self.entries.compactMap(\.key.id) }

    /// Whether a key of that name is there.
    func contains(_ id: String) -> Bool {
        self.entries.contains { $0.key.id == id }
    }

    /// The keys that may have signed a token of this name and algorithm, at most four.
    ///
    /// Without a name the last response must have exactly one key for signatures, of whatever kind: OpenID Connect Core §10.1 has the
    /// provider name one of several.
    func candidates(id: String?, algorithm: SignatureAlgorithm) -> [JSONWebKey] {
        guard let id else {
            let current = self.entries.filter(\.isCurrent).map(\.key)
            return current.count == 1 ? current.filter { $0.fits(algorithm) } : []
        }
        let named = self.entries.map(\.key).filter { $0.id == id && $0.fits(algorithm) }
        return Array(named.prefix(KeySet.maxCandidates))
    }
}
