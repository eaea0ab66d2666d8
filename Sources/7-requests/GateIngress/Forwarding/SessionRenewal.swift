// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateEndpoints
internal import GateRuntime
internal import GateSessions
internal import GateWire
internal import NIOCore

/// Renews the cookie of a session that no store keeps, with the response of an app; confined to one event loop.
struct SessionRenewal {
    /// How often one loop renews the same cookie at most: requests that are in progress together need one renewal, but the
    /// response with it may be lost.
    private static let pause = Duration.seconds(5)

    /// How long after its beginning a request may still renew the cookie; less than the loop remembers for which sessions
    /// have ended.
    private static let validity = TimeAmount.seconds(50)

    private let cached: CachedSession
    private let began: NIODeadline
    private let runtime: RuntimeConfiguration
    private let loop: LoopState

    /// The renewal of the cookie of a request, whatever token is beside it; nil if a store keeps the sessions.
    init?(of request: IngressRequest, loop: LoopState) {
        guard !request.runtime.keepsSessions, let session = CookieReader.session(of: request, loop) else { return nil }
        self.cached = session
        self.began = .now()
        self.runtime = request.runtime
        self.loop = loop
    }

    /// The header lines to add to a response of the app; nil if none are due.
    func lines(for head: ResponseHead, to request: RequestHead) -> String? {
        guard let cookies = self.cookies(for: request, unless: SessionRenewal.isShared(head)) else { return nil }
        // A cache between gateway and browser must not give this response to others.
        return cookies.map { "Set-Cookie: \($0)\r\n" }.joined() + "Cache-Control: private\r\n"
    }

    /// The `Set-Cookie` values to add to a response; nil if none are due.
    ///
    /// A session that has ended in this process meanwhile is not renewed: its cookie has been deleted or replaced. A
    /// response that comes late renews none, since that is not remembered for long.
    func cookies(for request: RequestHead, unless isWithheld: @autoclosure () -> Bool = false) -> [String]? {
        guard NIODeadline.now() - self.began < SessionRenewal.validity else { return nil }
        let now = self.loop.clock.now
        if let last = self.cached.renewedAt, now < last.advanced(by: SessionRenewal.pause) { return nil }
        let session = self.cached.session
        guard let renewed = self.runtime.sessions.renewed(session, now: now) else { return nil }
        guard !self.loop.sessions.hasEnded(session.familyKey), !isWithheld() else { return nil }
        self.cached.renewedAt = now
        return self.runtime.cookies(
            of: renewed,
            at: self.runtime.hosts.origin(of: request),
            replacing: CookieHeader(of: request),
            now: now
        )
    }

    /// Whether the app lets a shared cache store the response; another response will renew the cookie.
    private static func isShared(_ head: ResponseHead) -> Bool {
        head.message.fields.contains { field in
            guard field.name == .caching else { return false }
            let value = head.message.text(field.valueRange).lowercased()
            return value.contains("public") || value.contains("s-maxage")
        }
    }
}
