// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders
internal import Synchronization

/// Finds the keys for a token, and fetches the key set when a token names a key that is not there yet.
final class KeyCache: Sendable {
    private let document: CachedDocument<KeySet>
    private let unknown = Mutex(UnknownKeyLimiter())
    private let clock: WallClock

    init(_ document: CachedDocument<KeySet>, clock: WallClock) {
        self.document = document
        self.clock = clock
    }

    /// The keys that may have signed the token; none if it names a key that the provider does not have.
    ///
    /// The caller has checked before that the token came from the provider's own token endpoint with an algorithm that
    /// it may use.
    func candidates(id: String?, algorithm: SignatureAlgorithm) async throws(Failure) -> [JSONWebKey] {
        let keys = try await self.document.current()
        guard let id, !keys.contains(id) else { return keys.candidates(id: id, algorithm: algorithm) }
        let now = self.clock.now
        guard self.unknown.withLock({ $0.mayFetch(id, at: now) }) else {
            return await self.document.settled()?.candidates(id: id, algorithm: algorithm) ?? []
        }
        let newer = await self.document.newer() ?? keys
        if !newer.contains(id) { self.unknown.withLock { $0.stillAbsent(id, at: now) } }
        return newer.candidates(id: id, algorithm: algorithm)
    }

    /// The keys of a newer set that may have signed a token which no known key has; nil if it is too early to ask for one.
    func newerCandidates(id: String?, algorithm: SignatureAlgorithm) async -> [JSONWebKey]? {
        let now = self.clock.now
        // No key has the empty name, so this shares the cooldown with unknown names and nothing else.
        guard self.unknown.withLock({ $0.mayFetch("", at: now) }) else { return nil }
        return await self.document.newer()?.candidates(id: id, algorithm: algorithm)
    }

    /// How old the key set is, and whether it is used although it is not fresh; nil without a key set to use.
    var age: (age: Duration, isStale: Bool)? { self.document.age }

    /// The names of the keys at hand, in the provider's order.
    var names: [String] {
        get async { await self.document.settled()?.names ?? [] }
    }

    /// Fetches the key set unless a fresh one is there.
    func prepare() async throws(Failure) {
        _ = try await self.document.current()
    }
}
