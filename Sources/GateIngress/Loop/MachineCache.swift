// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateOpenID
internal import GateRuntime
internal import GateSessions
internal import NIOCore

/// The tokens of machines that one event loop has seen lately, valid ones and others; confined to that loop.
///
/// What is kept are the facts about a token: whether a route admits its user is decided for each route. A token counts only
/// for the issuer that has verified it.
struct MachineCache {
    /// What became of a token.
    enum Entry {
        /// It is valid.
        case valid(CachedSession)
        /// It is not, or could not be verified.
        case rejected(Failure)
    }

    private struct Key: Hashable {
        let hash: [UInt8]
        let issuer: String
    }

    private static let capacity = 16_384
    /// How long a rejected token is rejected without asking again.
    private static let rejectionTime = TimeAmount.seconds(10)
    /// The same of a token that could not be verified.
    private static let failureTime = TimeAmount.seconds(1)
    private var entries: [Key: (entry: Entry, until: NIODeadline)] = [:]

    /// What became of a token at an issuer, if that is known and still counts.
    func entry(_ credential: MachineCredential, at issuer: String, now: NIODeadline) -> Entry? {
        guard let known = self.entries[Key(hash: credential.hash, issuer: issuer)], now < known.until else {
            return nil
        }
        return known.entry
    }

    /// Keeps what became of a token.
    ///
    /// - Parameters:
    ///   - entry: What became of it.
    ///   - credential: The token.
    ///   - issuer: Who has verified it.
    ///   - lifetime: How long a valid token is accepted without being verified again.
    ///   - now: The time.
    mutating func insert(
        _ entry: Entry,
        for credential: MachineCredential,
        at issuer: String,
        lifetime: TimeAmount,
        now: NIODeadline
    ) {
        if self.entries.count >= MachineCache.capacity {
            self.entries = self.entries.filter { $0.value.until > now }
            if self.entries.count >= MachineCache.capacity { self.entries.removeAll(keepingCapacity: true) }
        }
        let time: TimeAmount =
            switch entry {
            case .valid: lifetime
            case .rejected(let failure) where failure.reason == .tokenRejected: MachineCache.rejectionTime
            case .rejected: MachineCache.failureTime
            }
        self.entries[Key(hash: credential.hash, issuer: issuer)] = (entry, now + time)
    }

    /// Forgets everything, since the configuration has changed.
    mutating func removeAll() { self.entries.removeAll() }
}

extension LoopState {
    /// How long a service token is used without looking at its entry in the configuration again; a reload counts at once.
    private static let serviceTokenTime = TimeAmount.seconds(60)

    /// Keeps the user of a token as a session of its own.
    func remember(
        _ result: Result<TokenIssuer.Verified, Failure>,
        of credential: MachineCredential,
        at issuer: TokenIssuer
    ) {
        let cache = issuer.cache
        switch result {
        case .failure(let failure):
            self.keep(.rejected(failure), of: credential, at: issuer.id, for: .zero)
        case .success(let verified):
            let left = verified.expires.map { min($0.since(self.clock.now), cache) } ?? cache
            let session = self.machine(verified.profile)
            self.keep(.valid(session), of: credential, at: issuer.id, for: .seconds(left.components.seconds))
        }
    }

    /// The same of a service token, which needs no look-up.
    func remember(_ profile: Profile, of credential: MachineCredential) -> CachedSession {
        let session = self.machine(profile)
        self.keep(.valid(session), of: credential, at: profile.provider, for: LoopState.serviceTokenTime)
        return session
    }

    private func machine(_ profile: Profile) -> CachedSession {
        let session = Session.machine(profile, id: self.runtime.random.identifier(16), now: self.clock.now)
        return CachedSession(session, under: .never, freshUntil: .distantFuture)
    }

    private func keep(
        _ entry: MachineCache.Entry,
        of credential: MachineCredential,
        at issuer: String,
        for lifetime: TimeAmount
    ) {
        self.machines.insert(entry, for: credential, at: issuer, lifetime: lifetime, now: self.tick)
    }
}
