// SPDX-License-Identifier: Apache-2.0

internal import GateClients
internal import GateCore
internal import GateHeaders
internal import GateOperations
internal import GatePolicy
internal import GateProxy
internal import GateRuntime
internal import GateSessions
internal import NIOCore

/// The sessions that one event loop has seen lately; confined to that loop.
///
/// An entry is valid for half a minute, then it is read from the store again, so that changes by another gateway or a
/// restart count. A session that ends here is dropped from every loop's cache at once.
final class SessionCache {
    /// How long an entry is valid.
    static let freshness = TimeAmount.seconds(30)
    private static let capacity = 65_536

    private var entries: [CookieKey: CachedSession] = [:]
    private var families: [[UInt8]: Set<CookieKey>] = [:]
    private var ended = RecentFamilies(for: .seconds(60))
    private var changed = RecentFamilies(for: .seconds(10))
    /// How long what was read of a family is valid that has changed lately: the look-up may have begun before.
    private static let freshnessAfterChange = TimeAmount.seconds(1)

    var count: Int { self.entries.count }

    /// The session of a cookie that was set on `host`, if it is cached and still valid.
    func session(_ key: CookieKey, host: String, now: NIODeadline) -> CachedSession? {
        guard let entry = self.entries[key], entry.session.host == host else { return nil }
        guard now < entry.freshUntil else {
            self.remove(key)
            return nil
        }
        return entry
    }

    /// Caches a session of the store, at most until it expires.
    ///
    /// - Parameters:
    ///   - session: The session.
    ///   - key: Its cookie.
    ///   - recheck: The policy under which it was looked up.
    ///   - isForToken: Whether the look-up had an expired access token refreshed.
    ///   - freshFor: How long it may be served.
    ///   - now: The time.
    func insert(
        _ session: Session,
        for key: CookieKey,
        under recheck: RecheckPolicy = .never,
        isForToken: Bool = false,
        freshFor: TimeAmount,
        now: NIODeadline
    ) {
        guard !self.ended.contains(session.familyKey, now: now) else { return }
        if self.entries.count >= SessionCache.capacity { self.evict(now: now) }
        let hasChanged = self.changed.contains(session.familyKey, now: now)
        let validity = min(freshFor, hasChanged ? SessionCache.freshnessAfterChange : SessionCache.freshness)
        self.entries[key] = CachedSession(session, under: recheck, isForToken: isForToken, freshUntil: now + validity)
        self.families[session.familyKey, default: []].insert(key)
    }

    /// Whether a family has ended lately.
    func hasEnded(_ family: [UInt8], now: NIODeadline = .now()) -> Bool { self.ended.contains(family, now: now) }

    /// Drops all sessions of a family: it has ended.
    func removeFamily(_ family: [UInt8], now: NIODeadline = .now()) {
        self.ended.insert(family, now: now)
        self.dropFamily(family)
    }

    /// Drops all sessions of a family: they have changed in the store.
    func familyChanged(_ family: [UInt8], now: NIODeadline = .now()) {
        self.changed.insert(family, now: now)
        self.dropFamily(family)
    }

    private func dropFamily(_ family: [UInt8]) {
        for key in self.families.removeValue(forKey: family) ?? [] {
            self.entries[key] = nil
        }
    }

    /// Forgets what was decided under an earlier configuration, and the sessions that the new one does not admit.
    func adopt(_ isAdmitted: (Session) -> Bool) {
        for (key, entry) in self.entries {
            if isAdmitted(entry.session) { entry.dropAuthorizations() } else { self.remove(key) }
        }
    }

    private func remove(_ key: CookieKey) {
        guard let entry = self.entries.removeValue(forKey: key) else { return }
        let family = entry.session.familyKey
        self.families[family]?.remove(key)
        if self.families[family]?.isEmpty ?? false { self.families[family] = nil }
    }

    /// Drops the entries that are not valid any more.
    func removeExpired(now: NIODeadline) {
        for (key, entry) in self.entries where entry.freshUntil <= now {
            self.remove(key)
        }
    }

    /// Drops all entries, with their memory: the store still has them.
    func removeAll() {
        self.entries = [:]
        self.families = [:]
    }

    /// Drops what is stale, and if that is not enough, everything.
    private func evict(now: NIODeadline) {
        self.removeExpired(now: now)
        guard self.entries.count >= SessionCache.capacity else { return }
        self.entries.removeAll(keepingCapacity: true)
        self.families.removeAll(keepingCapacity: true)
    }
}

extension CookieKey {
    /// A number that is the same for this cookie in every process, and never 0.
    var number: UInt64 {
        let words = self.words
        return max(
            1,
            StableHash.mix(StableHash.mix(words.0 ^ words.3) ^ StableHash.mix(words.1 ^ words.4) ^ words.2 ^ words.5)
        )
    }
}

/// The authorization of a session on a route.
enum RouteAuthorization {
    /// The route does not accept the session's provider.
    case signInNeeded
    /// The user is denied.
    case refused(Failure)
    /// The user is admitted with these identity lines.
    case admitted(ByteBuffer)
    /// The rules decide about each request; the user gets these identity lines if admitted.
    case depends(RequestRules, identity: ByteBuffer)
}

/// A session with what was decided about it; confined to one event loop.
final class CachedSession {
    /// What was decided on one route; a class, since it is read several times for each request.
    private final class Known {
        let route: RuntimeRoute
        let authorization: RouteAuthorization
        let refreshAt: Instant
        /// The rule that has decided; nil if rules decide about each request.
        let rule: RulePlace?
        /// The user, for access lines.
        var subject: AccessSubject?

        init(_ route: RuntimeRoute, _ authorization: RouteAuthorization, refreshAt: Instant, rule: RulePlace?) {
            (self.route, self.authorization) = (route, authorization)
            (self.refreshAt, self.rule) = (refreshAt, rule)
        }
    }

    let session: Session
    /// The policy of the app for which it was looked up.
    private let recheck: RecheckPolicy
    /// Whether the look-up had an expired access token refreshed; without success if that is still expired.
    private let isForToken: Bool
    let freshUntil: NIODeadline
    private var authorizations: [Int: Known] = [:]
    /// The last authorization used; a user stays in one app for many requests.
    private var last: Known?
    /// The token whose client admits its user whatever the request is.
    private var admittedAt: VerifiedToken?
    /// When its cookie was last renewed, where the cookie is the session.
    var renewedAt: Instant?
    private static let maxAuthorizations = 64

    init(_ session: Session, under recheck: RecheckPolicy, isForToken: Bool = false, freshUntil: NIODeadline) {
        self.session = session
        self.recheck = recheck
        self.isForToken = isForToken
        self.freshUntil = freshUntil
    }

    /// Whether a route accepts it as it is: by its age, use and token, and without asking the provider before.
    func isCurrent(on route: RuntimeRoute, runtime: RuntimeConfiguration, now: Instant) -> Bool {
        guard route.isCurrent(self.session, now: now) else { return false }
        // One look-up for the token is enough: another would delay each request while the provider does not respond.
        guard self.isForToken || !route.lacksAccessToken(self.session, at: now) else { return false }
        return runtime.recheck(on: route).accepts(lookUpUnder: self.recheck, of: self.session, at: now)
    }

    /// The authorization on a route with the identity lines, which are refreshed at half their lifetime.
    ///
    /// The decision depends on the session's facts and the route's rules only, and neither changes during the life of an
    /// entry, so it is cached.
    func authorization(
        on route: RuntimeRoute,
        runtime: RuntimeConfiguration,
        now: Instant
    ) throws(Failure) -> RouteAuthorization {
        // The same position may be another app's after a reload, which a request of before can outlive.
        if let last, last.route === route, now < last.refreshAt { return last.authorization }
        if let known = self.authorizations[route.index], known.route === route, now < known.refreshAt {
            self.last = known
            return known.authorization
        }
        let authorization: RouteAuthorization
        var refreshAt = now.advanced(by: runtime.identity.halfLife)
        func identity(until end: Instant? = nil) throws(Failure) -> ByteBuffer {
            let made = try runtime.identityLines(for: self.session, on: route, now: now, accessUntil: end)
            refreshAt = made.refreshAt
            return made.lines
        }
        var rule: RulePlace?
        switch route.route.userDecision(for: self.session.profile) {
        case .final(let decision):
            rule = decision.place
            switch decision {
            case .signInNeeded, .authenticationNeeded, .passkeyNeeded, .scopesNeeded: authorization = .signInNeeded
            case .denied(let denial):
                authorization = .refused(denial.failure(of: self.session.profile, app: route.name))
            case .openToAll, .openToNetwork, .admitted:
                authorization = .admitted(try identity())
            }
        case .depends(let rules):
            authorization = .depends(rules, identity: try identity(until: rules.nextTurn(after: now)))
        }
        if self.authorizations.count >= CachedSession.maxAuthorizations {
            self.authorizations.removeAll(keepingCapacity: true)
        }
        let known = Known(route, authorization, refreshAt: refreshAt, rule: rule)
        self.authorizations[route.index] = known
        self.last = known
        return authorization
    }

    /// Whether the client of a token was found to admit its user whatever the request is.
    func isAdmitted(at token: VerifiedToken) -> Bool { self.admittedAt === token }

    /// The decision about its user by the rules of a client that a token comes from; `address` is that of the client's machine.
    func decision(
        by client: ClientSettings,
        of token: VerifiedToken,
        from address: () -> IPAddress?,
        now: Instant
    ) -> Decision {
        let decision = client.route.userDecision(for: self.session.profile)
        guard case .final(let final) = decision else {
            let time = self.session.authenticated
            var facts = RequestFacts(method: "GET", client: address(), time: now, authenticated: time)
            facts.passkeyUsed = self.session.passkeyUsed
            return client.route.decision(for: facts, path: [UInt8(ascii: "/")], profile: self.session.profile)
        }
        // The other clients of an exchanged token may have rules that depend on the request.
        if case .admitted = final, self.session.client?.subjects.isEmpty ?? true { self.admittedAt = token }
        return final
    }

    /// The rule that has decided on a route whatever the request is; nil if none has.
    func rule(on route: RuntimeRoute) -> RulePlace? {
        if let last, last.route === route { return last.rule }
        return self.authorizations[route.index].flatMap { $0.route === route ? $0.rule : nil }
    }

    /// The user on a route, for access lines.
    func subject(on route: RuntimeRoute?) -> AccessSubject {
        let last = self.last.flatMap { $0.route === route ? $0 : nil }
        if let subject = last?.subject { return subject }
        let (user, provider) = (self.session.profile.user, self.session.profile.provider)
        let subject = AccessSubject(app: route?.name, route: route?.route.path, user: user, provider: provider)
        last?.subject = subject
        return subject
    }

    func dropAuthorization(on route: RuntimeRoute) {
        self.last = nil
        self.authorizations[route.index] = nil
    }

    func dropAuthorizations() {
        self.last = nil
        self.admittedAt = nil
        self.authorizations.removeAll()
    }
}
