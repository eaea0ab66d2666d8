// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateOpenID
internal import GateRuntime
internal import GateSessions
internal import NIOCore

/// The tokens of machines that one event loop has seen lately, valid ones and others; confined to that loop.
///
/// What is kept are the facts about a token: whether a route admits its user is decided for each route. A token counts only
/// for the issuer that has verified it, as it was configured then.
struct MachineCache {
    /// What became of a token.
    enum Entry {
        /// It is valid, until then; nil if that is not known.
        case valid(CachedSession, ends: Instant?)
        /// It is not, or could not be verified.
        case rejected(Failure)
    }

    private struct Key: Hashable {
        let hash: [UInt8]
        /// A changed configuration has another issuer of the same name; nil for service tokens.
        let issuer: TokenIssuer?

        static func == (one: Key, other: Key) -> Bool { one.issuer === other.issuer && one.hash == other.hash }

        func hash(into hasher: inout Hasher) { hasher.combine(self.hash) }
    }

    private typealias Table = [Key: (entry: Entry, until: NIODeadline)]

    static let maxValid = 16_384
    static let maxRejected = 8192
    /// How long a rejected token is rejected without asking again.
    private static let rejectionTime = TimeAmount.seconds(10)
    /// The same of a token that could not be verified.
    private static let failureTime = TimeAmount.seconds(1)
    private var valid: Table = [:]
    private var sweptAt = NIODeadline.distantPast
    // Anyone can send tokens that are rejected: they take turns in two tables of their own, so that none is searched for
    // what is old, and so that they remove no valid one.
    private var rejected: Table = [:]
    private var rejectedEarlier: Table = [:]
    private var rejectedSince = NIODeadline.distantPast

    /// What became of a token at an issuer, if that is known and still counts; nil is for service tokens.
    func entry(_ credential: MachineCredential, at issuer: TokenIssuer?, now: NIODeadline) -> Entry? {
        let key = Key(hash: credential.hash, issuer: issuer)
        let known = self.valid[key] ?? self.rejected[key] ?? self.rejectedEarlier[key]
        guard let known, now < known.until else { return nil }
        return known.entry
    }

    /// Keeps what became of a token.
    ///
    /// - Parameters:
    ///   - entry: What became of it.
    ///   - credential: The token.
    ///   - issuer: Who has verified it; nil for a service token.
    ///   - lifetime: How long a valid token is accepted without being verified again.
    ///   - now: The time.
    mutating func insert(
        _ entry: Entry,
        for credential: MachineCredential,
        at issuer: TokenIssuer?,
        lifetime: TimeAmount,
        now: NIODeadline
    ) {
        let key = Key(hash: credential.hash, issuer: issuer)
        guard case .rejected(let failure) = entry else {
            if self.valid.count >= MachineCache.maxValid { self.sweep(now: now) }
            self.valid[key] = (entry, now + lifetime)
            return
        }
        self.valid[key] = nil
        if self.rejected.count >= MachineCache.maxRejected || self.rejectedSince < now - MachineCache.rejectionTime {
            self.rejectedEarlier = self.rejected
            self.rejected = [:]
            self.rejectedSince = now
        }
        let isToken = failure.reason == .tokenRejected
        self.rejected[key] = (entry, now + (isToken ? MachineCache.rejectionTime : MachineCache.failureTime))
    }

    /// Drops what is stale, at most once in a second, and if that is not enough, everything.
    private mutating func sweep(now: NIODeadline) {
        if self.sweptAt < now - .seconds(1) {
            self.valid = self.valid.filter { $0.value.until > now }
            self.sweptAt = now
        }
        if self.valid.count >= MachineCache.maxValid { self.valid.removeAll(keepingCapacity: true) }
    }

    /// Forgets everything, since the configuration has changed.
    mutating func removeAll() { self = MachineCache() }
}

extension LoopState {
    /// How many tokens one loop has verified at the same time: fewer than sessions are looked up, since anyone can send a
    /// token, and an issuer may hang.
    static let maxVerifications = 500
    /// How long the session of a service token is used; a reload counts at once.
    private static let serviceTokenTime = TimeAmount.seconds(60)

    /// Keeps the user of a token as a session of its own.
    func remember(
        _ result: Result<TokenIssuer.Verified, Failure>,
        of credential: MachineCredential,
        at issuer: TokenIssuer
    ) {
        switch result {
        case .failure(let failure):
            self.keep(.rejected(failure), of: credential, at: issuer, for: .zero)
        case .success(let verified):
            let left = verified.expires.map { min($0.since(self.clock.now), issuer.cache) } ?? issuer.cache
            let entry = MachineCache.Entry.valid(self.machine(verified.profile, credential), ends: verified.expires)
            self.keep(entry, of: credential, at: issuer, for: .seconds(left.wholeSeconds))
        }
    }

    /// The session of a service token, which needs no look-up.
    func session(of profile: Profile, _ credential: MachineCredential, ends: Instant?) -> CachedSession {
        if case .valid(let known, _)? = self.machines.entry(credential, at: nil, now: self.tick),
            known.session.profile == profile
        {
            return known
        }
        let session = self.machine(profile, credential)
        self.keep(.valid(session, ends: ends), of: credential, at: nil, for: LoopState.serviceTokenTime)
        return session
    }

    private func machine(_ profile: Profile, _ credential: MachineCredential) -> CachedSession {
        let session = Session.machine(
            profile,
            id: self.runtime.services.random.identifier(16),
            family: Base64URL.encode(credential.hash),
            now: self.clock.now
        )
        return CachedSession(session, under: .never, freshUntil: .distantFuture)
    }

    private func keep(
        _ entry: MachineCache.Entry,
        of credential: MachineCredential,
        at issuer: TokenIssuer?,
        for lifetime: TimeAmount
    ) {
        self.machines.insert(entry, for: credential, at: issuer, lifetime: lifetime, now: self.tick)
    }
}
