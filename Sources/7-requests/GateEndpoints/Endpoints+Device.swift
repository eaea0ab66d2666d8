// SPDX-License-Identifier: Apache-2.0

internal import GateClients
internal import GateCore
internal import GateHTTP
internal import GateIssuer
internal import GatePages
internal import GatePolicy
internal import GateRuntime
internal import GateSessions
internal import GateWire

// Sign-ins that clients without a browser begin, and users confirm here.
extension Endpoints {
    /// The name of the field with the apps that the user has read.
    private static let shownAudiences = "audiences"

    /// The page for the code of a device, and the user's decision.
    ///
    /// RFC 8628 §3.3. A code is looked up only for a user who is signed in, so that each attempt to guess one has a name.
    func device(_ request: EndpointRequest) async throws(Failure) -> Response {
        guard let issuer = self.runtime.clients.issuer, self.isOnGatewayHost(request) else { throw self.noClients }
        guard request.method != .post else { return try await self.decideDevice(request, issuer) }
        guard let text = request.query?[Pages.deviceField], !text.isEmpty else { return self.devicePage(request) }
        guard let code = UserCode(text) else {
            return self.devicePage(request, .deviceNotACode, status: 400)
        }
        let query = Form([Form.Field(Pages.deviceField, code.text)]).encoded
        let path = ReturnPath("\(self.runtime.path(.device))?\(query)") ?? .root
        let signIn = SignInRedirect(runtime: self.runtime)
        let session: Session
        switch try await self.confirmedSession(of: request, mayAskUser: true) {
        case .none: return Rendering.redirect(to: signIn.signInAddress(path, route: nil))
        case .needsUser(let stale):
            return Rendering.redirect(to: signIn.silentAddress(path, provider: stale.provider))
        case .session(let live): session = live
        }
        guard let attempt = self.runtime.services.devices.attempt(by: session.profile.user, from: request.client),
            await !self.triedTooMany(session, request)
        else { return self.devicePage(request, .deviceTooMany, status: 429) }
        guard let device = try await self.runtime.sessions.device(code, now: request.now), device.isPending,
            let client = issuer.clients[device.client]
        else {
            for counted in [session.profile.user, request.network] {
                _ = await self.runtime.sessions.count(.deviceAttempts, of: counted, now: request.now)
            }
            return self.devicePage(request, .deviceUnknown, status: 404)
        }
        attempt.release()
        let decision = client.decision(about: session, from: request.ruledClient, now: request.now)
        if case .passkeyNeeded = decision { return Rendering.redirect(to: signIn.passkeyAddress(path)) }
        try self.check(session, at: client, request)
        guard
            self.runtime.routes.accepts(
                session,
                at: self.runtime.routes.permitted(device.audiences, to: session.profile, at: request.now),
                now: request.now
            )
        else {
            let again = Form([Form.Field("rd", path.value), .selectAccount]).encoded
            return Rendering.redirect(to: "\(self.runtime.address(.signIn))?\(again)")
        }
        return self.deviceConsent(to: device, code, of: client, session, request)
    }

    /// Whether the user, or the client's network, has tried too many codes at the gateways of the store together.
    private func triedTooMany(_ session: Session, _ request: EndpointRequest) async -> Bool {
        let (sessions, now) = (self.runtime.sessions, request.now)
        if await sessions.isOver(.deviceAttempts, of: session.profile.user, now: now) { return true }
        return await sessions.isOver(.deviceAttempts, of: request.network, now: now)
    }

    private func devicePage(_ request: EndpointRequest, _ remark: PageText? = nil, status: Int = 200) -> Response {
        let action = self.runtime.address(.device)
        let pages = self.runtime.rendering.pages
        return Rendering.page(status, pages.device(action: action, remark: remark, in: self.language(of: request)))
    }

    private func deviceConsent(
        to device: DeviceAuthorization,
        _ code: UserCode,
        of client: ClientSettings,
        _ session: Session,
        _ request: EndpointRequest
    ) -> Response {
        let audiences = self.runtime.routes.permitted(device.audiences, to: session.profile, at: request.now)
        let shown = Form.Field(Endpoints.shownAudiences, audiences.joined(separator: " "))
        let consent = Consent(
            .device,
            to: Form([Form.Field(Pages.deviceField, code.text), shown]),
            of: session,
            now: request.now
        )
        let html = self.runtime.rendering.pages.deviceConsent(
            ConsentView(
                client: client.name,
                apps: self.runtime.routes.permissions(of: audiences, device.scopes, by: client),
                action: self.runtime.address(.device),
                field: (Consent.field, consent.sealed(by: self.runtime.sealer)),
                choice: Consent.choice
            ),
            code: code.text,
            user: self.runtime.user(of: session),
            in: self.language(of: request)
        )
        return Rendering.page(200, html)
    }

    /// What the user chose on that page.
    private func decideDevice(_ request: EndpointRequest, _ issuer: Issuer) async throws(Failure) -> Response {
        guard request.comesFromOurPages else { throw Failure(.requestCrossSite, "another site posted to device") }
        guard let text = request.form?[Consent.field],
            let consent = Consent(.device, sealed: text, by: self.runtime.sealer, now: request.now),
            let code = consent.form[Pages.deviceField].flatMap({ UserCode($0) }),
            let shown = consent.form[Endpoints.shownAudiences]?.split(separator: " ").map(String.init)
        else { throw Failure(.clientRequest, "the page is over ten minutes old, or not of this gateway") }
        guard let ticket = request.ticket, let session = try await self.session(of: request), consent.isOf(session)
        else {
            // Another user is signed in now, who has not been asked.
            let query = Form([Form.Field(Pages.deviceField, code.text)]).encoded
            return Rendering.redirect(to: "\(self.runtime.address(.device))?\(query)")
        }
        let isAllowed = request.form?[Consent.choice.name] == Consent.choice.allow
        var audiences: [String] = []
        if isAllowed, let device = try await self.runtime.sessions.device(code, now: request.now),
            let client = issuer.clients[device.client]
        {
            try self.check(session, at: client, request)
            // As the page has shown them, whatever a reload admits since; what the user may not enter now must not be granted for later.
            audiences = self.runtime.routes.permitted(device.audiences, to: session.profile, at: request.now).filter(
                shown.contains
            )
        }
        let decided = try await self.runtime.sessions.decideDevice(
            code,
            by: isAllowed ? ticket : nil,
            for: audiences,
            now: request.now
        )
        guard let decided, let client = issuer.clients[decided.client] else {
            return self.devicePage(request, .deviceExpired, status: 404)
        }
        let language = self.language(of: request)
        let html = self.runtime.rendering.pages.deviceDone(client: client.name, isAllowed: isAllowed, in: language)
        return Rendering.page(200, html)
    }

    /// Checks that the rules of a client admit a user.
    private func check(_ session: Session, at client: ClientSettings, _ request: EndpointRequest) throws(Failure) {
        guard client.route.accepts(session.profile) else {
            let detail = "\(session.profile.user) signed in with a provider that '\(client.id)' does not accept"
            throw Failure(.policyRefused, detail)
        }
        switch client.decision(about: session, from: request.ruledClient, now: request.now) {
        case .admitted: return
        case .denied(let denial): throw denial.failure(of: session.profile, app: client.id)
        case .signInNeeded, .authenticationNeeded:
            throw Failure(.policyRefused, "\(session.profile.user) has to sign in again for '\(client.id)'")
        case .passkeyNeeded:
            let help = "the rules of '\(client.id)' ask for a passkey"
            throw Failure(.policyRefused, "\(session.profile.user): \(help)")
        case .openToAll, .openToNetwork, .scopesNeeded:
            throw Failure(.clientRequest, "'\(client.id)' has rules that are those of an app, and admit no user")
        }
    }
}
