// SPDX-License-Identifier: Apache-2.0

internal import GateAccounts
internal import GateCore
internal import GateHTTP
internal import GateHeaders
internal import GateOpenID
internal import GatePages
internal import GateRuntime
internal import GateSessions
internal import GateWire

/// A page of the gateway for signed-in users.
///
/// On some a user has to confirm the session before a change. That is never a fact of the session, which a copy of its cookie has
/// too: it is in the response to the proof, or in a cookie of its own that works once.
struct SignedInPage {
    let runtime: RuntimeConfiguration
    let path: String

    /// The query of a page after a change.
    static let changed = Form.Field("changed", "1")
    /// The query with which a sign-in confirms the session that it begins.
    private static let confirm = Form.Field("confirm", "1")
    /// How long ago the provider may have authenticated a user who confirms by a sign-in.
    private static let maxAge = Duration.seconds(60)
    /// How long a confirmation may take to be used.
    private static let lifetime = Duration.seconds(600)
    private static let sealing = "page/confirmation"

    /// What a page begins with.
    enum Start {
        case session(Session)
        /// The browser has to go elsewhere first.
        case elsewhere(Response)
    }

    private func path(leadingTo path: ReturnPath?, _ more: [Form.Field] = []) -> String {
        let fields = more + (path.map { [self.runtime.field($0)] } ?? [])
        return fields.isEmpty ? self.path : "\(self.path)?\(Form(fields).encoded)"
    }

    /// The URL of the page with where the browser goes afterwards.
    func address(leadingTo path: ReturnPath?) -> String {
        "\(self.runtime.hosts.publicOrigin)\(self.path(leadingTo: path))"
    }

    /// The session of the browser, confirmed by its provider if that is due.
    func session(of request: EndpointRequest) async throws(Failure) -> Start {
        let origin = self.runtime.hosts.publicOrigin
        guard request.origin.host == origin.host else {
            return .elsewhere(Rendering.redirect(to: self.address(leadingTo: nil)))
        }
        if let stated = request.statedPath, request.method != .post {
            let kept = self.runtime.kept(stated, on: origin, in: request.cookies)
            guard kept.path == stated else {
                var response = Rendering.redirect(to: self.address(leadingTo: kept.path))
                response.addCookies(kept.cookies)
                return .elsewhere(response)
            }
        }
        let here = ReturnPath(requested: self.path(leadingTo: request.statedPath)) ?? .root
        let redirect = SignInRedirect(runtime: self.runtime)
        if let ticket = request.ticket {
            let lookUp = SessionLookUp(runtime: self.runtime)
            let mayAskUser = request.method != .post && request.isNavigation
            switch try await lookUp.session(for: ticket, host: origin.host, mayAskUser: mayAskUser) {
            case .session(let session): return .session(session)
            case .needsUser(let session):
                let address = redirect.silentAddress(here, provider: session.provider)
                return .elsewhere(Rendering.redirect(to: address))
            case .none: break
            }
        }
        guard request.clientKind.wantsPage else { throw Failure(.sessionNone, "\(self.path) without a session") }
        return .elsewhere(Rendering.redirect(to: redirect.signInAddress(here, route: nil)))
    }

    // MARK: Confirmation by a sign-in

    /// Where a user without a passkey confirms the session: a new sign-in with the same provider.
    func confirmation(of session: Session, leadingTo path: ReturnPath? = nil) -> String {
        let query = Form([Form.Field("rd", self.path(leadingTo: path, [SignedInPage.confirm]))]).encoded
        return "\(self.runtime.address(.start))/\(session.provider)?\(query)"
    }

    /// The page that a sign-in with a return path confirms the session for; nil for any other return path.
    private static func page(confirmedBy path: ReturnPath, _ runtime: RuntimeConfiguration) -> String? {
        let sides = path.value.split(separator: "?", maxSplits: 1).map(String.init)
        guard sides.count == 2, [runtime.path(.passkeys), runtime.path(.connected)].contains(sides[0]),
            Form(encoded: sides[1])?[SignedInPage.confirm.name] == SignedInPage.confirm.value
        else { return nil }
        return sides[0]
    }

    /// How recent the authentication of a user must be for a return path on the gateway's host that confirms a session.
    static func maxAuthenticationAge(at path: ReturnPath, _ runtime: RuntimeConfiguration) -> Duration? {
        self.page(confirmedBy: path, runtime).map { _ in SignedInPage.maxAge }
    }

    /// The cookie that a sign-in gets which confirms its session; nil for any other.
    ///
    /// - Parameters:
    ///   - path: Where the sign-in leads.
    ///   - demand: What it was asked for when it began, when the browser may have kept back where it leads.
    ///   - session: Its session.
    ///   - runtime: The runtime configuration.
    ///   - now: The time.
    /// - Returns: The `Set-Cookie` value.
    static func cookie(
        after path: ReturnPath,
        _ demand: AuthenticationDemand?,
        _ session: Session,
        runtime: RuntimeConfiguration,
        now: Instant
    ) -> String? {
        guard let page = self.page(confirmedBy: path, runtime), let demand, demand.maxAge <= self.maxAge else {
            return nil
        }
        let members: JSON = [
            "page": .string(page), "family": .string(session.signInID),
            "id": .string(runtime.services.random.token(16)),
            "expires": .int(now.advanced(by: SignedInPage.lifetime).seconds),
        ]
        let sealed = runtime.sealer.seal(members.encoded, for: SignedInPage.sealing)
        return GatewayCookie.confirmation(at: runtime.hosts.publicOrigin).setting(Base64URL.encode(sealed))
    }

    /// Whether the sign-in of the browser has confirmed the session for this page; true once.
    func isConfirmed(_ session: Session, _ request: EndpointRequest) async throws(Failure) -> Bool {
        // A script of an app on the same host cannot navigate like that.
        guard request.isNavigation,
            let text = request.value(of: .confirmation(at: self.runtime.hosts.publicOrigin)),
            let sealed = Base64URL.decode(String(decoding: text, as: UTF8.self)),
            let plain = self.runtime.sealer.open(sealed, for: SignedInPage.sealing),
            let json = try? JSON(parsing: plain, depth: 1), json["page"]?.string == self.path,
            let family = json["family"]?.string, isIdentical(family, session.signInID),
            let id = json["id"]?.string, let expires = json["expires"]?.integer,
            request.now < Instant(seconds: expires)
        else { return false }
        return try await self.runtime.sessions.spend(
            SingleUse("confirmation", id, until: Instant(seconds: expires))
        )
    }
}
