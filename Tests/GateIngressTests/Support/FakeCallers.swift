// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateHeaders
import GateOpenID
import GateSessions
import NIOCore

@testable import GateIngress
@testable import GateRuntime

/// What a test knows of callers, without an event loop.
final class FakeCallers: KnownCallers {
    var healthStatus = 200
    var sessions: [CookieKey: CachedSession] = [:]
    /// What became of tokens at issuers, by their hash.
    var machines: [[UInt8]: MachineCache.Entry] = [:]
    private var tokens = TokenCache()

    func session(_ key: CookieKey, on host: String, at tick: NIODeadline) -> CachedSession? {
        self.sessions[key].flatMap { $0.session.host == host ? $0 : nil }
    }

    func accessToken(_ text: ByteBuffer, under runtime: RuntimeConfiguration, at now: Instant) -> VerifiedToken? {
        self.tokens.token(text, of: runtime, keeps: true, now: now)
    }

    func isLastAccessToken(_ text: ByteBuffer) -> Bool { self.tokens.isLast(text) }

    func machine(
        _ credential: MachineCredential,
        at issuer: TokenIssuer,
        at tick: NIODeadline
    ) -> MachineCache.Entry? { self.machines[credential.hash] }

    func session(of profile: Profile, _ credential: MachineCredential, ends: Instant?) -> CachedSession {
        let session = Session.machine(profile, id: "id", family: "family", now: Instant(seconds: 0))
        return CachedSession(session, under: .never, freshUntil: .distantFuture)
    }

    func networkLines(
        on route: RuntimeRoute,
        under runtime: RuntimeConfiguration,
        at now: Instant
    ) throws(Failure) -> ByteBuffer {
        try runtime.identity.networkLines(on: route.route, as: route.identity, now: now)
    }
}
