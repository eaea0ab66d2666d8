// SPDX-License-Identifier: Apache-2.0

internal import GateAccounts
internal import GateConfiguration
internal import GateCore
internal import GateHTTP
internal import GateHeaders
internal import GateOperations
internal import GatePages
internal import GatePasskeys
internal import GatePolicy
internal import GateProviders
internal import GateRuntime
internal import GateSessions
internal import GateWire

// The passkeys of signed-in users: to prove one, where a rule asks for it, and to add and remove them.
extension Endpoints {
    private static let passkeyPath = "/oauth2/passkey"
    private static let changed = Form.Field("changed", "1")

    /// The passkeys of the gateway.
    private func passkeysInUse() throws(Failure) -> Passkeys {
        guard let passkeys = self.runtime.passkeys else {
            throw Failure(.endpointNone, "the file has no 'passkeys'")
        }
        return passkeys
    }

    /// What a page for signed-in users of the gateway begins with.
    private enum SessionOrRedirect {
        case session(Session)
        /// The browser has to go elsewhere first.
        case elsewhere(Response)
    }

    private func sessionOrRedirect(
        of request: EndpointRequest,
        at path: String
    ) async throws(Failure) -> SessionOrRedirect {
        let fields = request.statedPath.map { [Form.Field("rd", $0.value)] } ?? []
        let here = fields.isEmpty ? path : "\(path)?\(Form(fields).encoded)"
        guard self.isOnGatewayHost(request) else {
            return .elsewhere(Rendering.redirect(to: "\(self.runtime.publicOrigin)\(here)"))
        }
        switch try await self.confirmedSession(of: request, mayAskUser: true) {
        case .session(let session): return .session(session)
        case .none, .needsUser:
            guard request.clientKind.wantsPage else { throw Failure(.sessionNone, "passkeys without a session") }
            let returnPath = ReturnPath(here) ?? .root
            let address = SignInRedirect(runtime: self.runtime).signInAddress(returnPath, route: nil)
            return .elsewhere(Rendering.redirect(to: address))
        }
    }

    /// Where the browser goes after a page about passkeys; nil if the request does not name it.
    private func destination(of request: EndpointRequest) -> ReturnPath? {
        request.statedPath.map { self.runtime.carried($0, on: self.runtime.publicOrigin.host, for: request.client) }
    }

    // MARK: Use

    /// The page that asks for a passkey, and the browser's response.
    func passkey(_ request: EndpointRequest) async throws(Failure) -> Response {
        let passkeys = try self.passkeysInUse()
        let session: Session
        switch try await self.sessionOrRedirect(of: request, at: Endpoints.passkeyPath) {
        case .elsewhere(let response): return response
        case .session(let found): session = found
        }
        let known = try await passkeys.passkeys(of: session.profile.user)
        guard request.method == .post else {
            return self.passkeyPage(known, passkeys, session, to: self.destination(of: request), request)
        }
        return try await self.withSignInLimits(request) { () throws(Failure) in
            try await self.use(passkeys, known, session, request)
        }
    }

    private func use(
        _ passkeys: Passkeys,
        _ known: UserPasskeys?,
        _ session: Session,
        _ request: EndpointRequest
    ) async throws(Failure) -> Response {
        let ceremony = try self.ceremony(.use, of: session, request)
        var assertion = PasskeyAssertion(passkeys.relyingParty, challenge: ceremony.challenge)
        assertion.allowed = known?.all.map(\.passkey) ?? []
        let user = session.profile.user
        let used: SavedPasskey
        do throws(Failure) {
            guard !assertion.allowed.isEmpty else { throw Failure(.passkeyRejected, "\(user) has no passkey") }
            let response = try request.passkeyAssertion()
            try await self.spend(ceremony)
            let assertion = assertion
            used = try await uncancelled { () throws(Failure) in
                try await passkeys.use(response, for: assertion, user: user)
            }
        } catch {
            guard let remark = error.passkeyRemark else { throw error }
            let path = ceremony.returnPath
            let page = self.passkeyPage(known, passkeys, session, to: path, failure: error, remark: remark, request)
            return self.failed(page, error, session, request)
        }
        try await self.note(in: request, session, now: request.now)
        self.runtime.log.passkeyUsed(user, passkey: used.passkey.name, session: session.id)
        return self.redirect(to: ceremony.returnPath ?? .root)
    }

    /// Records the use of a passkey in the session of the browser.
    private func note(in request: EndpointRequest, _ session: Session, now: Instant) async throws(Failure) {
        let (sessions, ticket) = (self.runtime.sessions, request.ticket)
        let isNoted = try await uncancelled { () throws(Failure) in
            guard let ticket else { return false }
            return try await sessions.notePasskey(in: ticket, at: now)
        }
        guard isNoted else { throw Failure(.sessionNone, "the session of \(session.profile.user) has ended meanwhile") }
    }

    private func passkeyPage(
        _ known: UserPasskeys?,
        _ passkeys: Passkeys,
        _ session: Session,
        to path: ReturnPath?,
        failure: Failure? = nil,
        remark: PageText? = nil,
        _ request: EndpointRequest
    ) -> Response {
        let fields = path.map { [Form.Field("rd", $0.value)] } ?? []
        let manage = "\(self.runtime.publicOrigin)\(Endpoints.passkeysPath)"
        let address = fields.isEmpty ? manage : "\(manage)?\(Form(fields).encoded)"
        var form: PasskeyForm?
        if let known, !known.all.isEmpty {
            let ceremony = self.newCeremony(.use, known.handle, path, session, request)
            var assertion = PasskeyAssertion(passkeys.relyingParty, challenge: ceremony.challenge)
            assertion.allowed = known.all.map(\.passkey)
            let account = self.form(Endpoints.passkeyPath, ceremony, remark)
            form = PasskeyForm(account, .get, options: assertion.options)
        }
        let html = self.runtime.rendering.pages.passkey(
            form,
            user: self.runtime.user(of: session),
            passkeys: address,
            in: self.language(of: request)
        )
        let targets = self.formTargets(of: path ?? .root, now: request.now)
        return Rendering.page(failure?.reason.entry.status ?? 200, html, formTargets: targets, runsScript: true)
    }

    // MARK: Changes

    /// The page with a user's passkeys, and the form that adds or removes one.
    func passkeys(_ request: EndpointRequest) async throws(Failure) -> Response {
        let passkeys = try self.passkeysInUse()
        let session: Session
        switch try await self.sessionOrRedirect(of: request, at: Endpoints.passkeysPath) {
        case .elsewhere(let response): return response
        case .session(let found): session = found
        }
        let known = try await passkeys.passkeys(of: session.profile.user)
        guard request.method == .post else {
            return try self.passkeysPage(known, passkeys, session, to: self.destination(of: request), request)
        }
        return try await self.withSignInLimits(request) { () throws(Failure) in
            try await self.change(passkeys, known, session, request)
        }
    }

    /// Whether a user may change passkeys now: a session alone is not enough, since a copy of its cookie could add a passkey of
    /// its own, and a sign-in is not once there is a passkey, which rules take for more than a sign-in.
    private func mayChange(_ known: UserPasskeys?, _ session: Session, now: Instant) -> Bool {
        let time = known?.all.isEmpty ?? true ? session.authenticated : session.passkeyUsed
        return time.map { now.since($0) <= Endpoints.recentEnough } ?? false
    }

    private func change(
        _ passkeys: Passkeys,
        _ known: UserPasskeys?,
        _ session: Session,
        _ request: EndpointRequest
    ) async throws(Failure) -> Response {
        let ceremony = try self.ceremony(.change, of: session, request)
        let user = session.profile.user
        guard self.mayChange(known, session, now: request.now) else {
            return try self.passkeysPage(known, passkeys, session, to: ceremony.returnPath, request)
        }
        let form = request.form ?? Form()
        if let id = form[PasskeyForm.removed] {
            let removed = try await uncancelled { () throws(Failure) in try await passkeys.remove(id, of: user) }
            if let removed { self.runtime.log.credentialsChanged(user, "passkey removed: \(removed.passkey.name)") }
            return self.redirectToPasskeys(ceremony.returnPath)
        }
        do throws(Failure) {
            let registration = try self.registration(passkeys, known, session, ceremony)
            guard let response = form[PasskeyForm.credential].flatMap({ try? JSON(parsing: $0.utf8, depth: 8) }) else {
                throw Failure(.passkeyRejected, "\(user): the form has no response of a browser")
            }
            try await self.spend(ceremony)
            let name = form[PasskeyForm.name].map(Endpoints.passkeyName) ?? ""
            let handle = ceremony.handle
            _ = try await uncancelled { () throws(Failure) in
                try await passkeys.add(response, to: registration, name: name, user: user, handle: handle)
            }
            self.runtime.log.credentialsChanged(user, "passkey added: \(name)")
        } catch {
            guard let remark = error.passkeyRemark else { throw error }
            let path = ceremony.returnPath
            let page = try self.passkeysPage(
                known,
                passkeys,
                session,
                to: path,
                failure: error,
                remark: remark,
                request
            )
            return self.failed(page, error, session, request)
        }
        // The device has verified the user just now.
        try await self.note(in: request, session, now: request.now)
        return ceremony.returnPath.map { self.redirect(to: $0) } ?? self.redirectToPasskeys(nil)
    }

    private func passkeysPage(
        _ known: UserPasskeys?,
        _ passkeys: Passkeys,
        _ session: Session,
        to path: ReturnPath?,
        failure: Failure? = nil,
        remark: PageText? = nil,
        _ request: EndpointRequest
    ) throws(Failure) -> Response {
        let now = request.now
        var form: PasskeyForm?
        if self.mayChange(known, session, now: now) {
            let isLocal = self.runtime.provider(session.provider)?.accounts != nil
            let handle = known?.handle ?? passkeys.newHandle(of: session.profile, isLocal: isLocal)
            let ceremony = self.newCeremony(.change, handle, path, session, request)
            let options = try self.registration(passkeys, known, session, ceremony).options
            form = PasskeyForm(self.form(Endpoints.passkeysPath, ceremony, remark), .create, options: options)
        }
        let view = PasskeysView(
            (known?.all ?? []).map { saved in
                PasskeysView.Passkey(
                    id: saved.id,
                    name: saved.passkey.name,
                    added: saved.added,
                    used: saved.used,
                    isSynced: saved.passkey.isBackedUp
                )
            },
            form: form,
            confirmation: self.confirmation(known, session, path),
            suggestedName: request.userAgent.flatMap { DeviceSummary.text(of: $0) } ?? "Passkey",
            hasChanged: request.query?[Endpoints.changed.name] == Endpoints.changed.value,
            account: "\(self.runtime.publicOrigin)/oauth2/account"
        )
        let html = self.runtime.rendering.pages.passkeys(
            view,
            user: self.runtime.user(of: session),
            in: self.language(of: request)
        )
        let targets = self.formTargets(of: path ?? .root, now: now)
        return Rendering.page(failure?.reason.entry.status ?? 200, html, formTargets: targets, runsScript: true)
    }

    /// Where a user confirms the sign-in before a change: with a passkey, or else by a new sign-in.
    private func confirmation(_ known: UserPasskeys?, _ session: Session, _ path: ReturnPath?) -> String {
        let fields = path.map { [Form.Field("rd", $0.value)] } ?? []
        let here = fields.isEmpty ? Endpoints.passkeysPath : "\(Endpoints.passkeysPath)?\(Form(fields).encoded)"
        let query = Form([Form.Field("rd", here)]).encoded
        let hasPasskey = !(known?.all.isEmpty ?? true)
        let page = hasPasskey ? Endpoints.passkeyPath : "/oauth2/\(EndpointPath.start.rawValue)/\(session.provider)"
        return "\(self.runtime.publicOrigin)\(page)?\(query)"
    }

    private func registration(
        _ passkeys: Passkeys,
        _ known: UserPasskeys?,
        _ session: Session,
        _ ceremony: PasskeyCeremony
    ) throws(Failure) -> PasskeyRegistration {
        let profile = session.profile
        let name = profile.email ?? profile.username ?? profile.user
        do throws(PasskeyError) {
            let user = try PasskeyRegistration.User(
                id: ceremony.handle,
                name: name,
                displayName: profile.name ?? name
            )
            var registration = PasskeyRegistration(
                passkeys.relyingParty,
                user: user,
                challenge: ceremony.challenge
            )
            registration.existing = known?.all.map(\.passkey) ?? []
            // Security keys have little space, and only a sign-in with a local account needs a passkey that names its user.
            let isLocal = self.runtime.provider(session.provider)?.accounts != nil
            registration.residentKey = isLocal ? .required : .preferred
            return registration
        } catch {
            throw Failure(.passkeyRejected, "\(profile.user): \(error.message)")
        }
    }

    private func redirectToPasskeys(_ path: ReturnPath?) -> Response {
        let fields = (path.map { [Form.Field("rd", $0.value)] } ?? []) + [Endpoints.changed]
        return Rendering.redirect(
            to: "\(self.runtime.publicOrigin)\(Endpoints.passkeysPath)?\(Form(fields).encoded)"
        )
    }

    /// A name for a passkey: what a user has typed, or its beginning.
    private static func passkeyName(_ typed: String) -> String {
        let name = typed.unicodeScalars.prefix(60).filter { !$0.properties.isNoncharacterCodePoint }
        let plain = String(String.UnicodeScalarView(name)).split(separator: " ").joined(separator: " ")
        return plain.isEmpty || !PrintableText.isPrintable(plain) ? "Passkey" : plain
    }

    // MARK: Ceremonies

    private func newCeremony(
        _ purpose: PasskeyCeremony.Purpose,
        _ handle: [UInt8],
        _ path: ReturnPath?,
        _ session: Session,
        _ request: EndpointRequest
    ) -> PasskeyCeremony {
        PasskeyCeremony(
            purpose,
            handle: handle,
            returnPath: path,
            of: session,
            now: request.now,
            random: self.runtime.random
        )
    }

    private func ceremony(
        _ purpose: PasskeyCeremony.Purpose,
        of session: Session,
        _ request: EndpointRequest
    ) throws(Failure) -> PasskeyCeremony {
        let text = request.form?[PasskeyCeremony.field] ?? ""
        guard request.comesFromOurPages,
            let ceremony = PasskeyCeremony(text, purpose, of: session, by: self.runtime.sealer, now: request.now)
        else { throw Failure(.requestCrossSite, "a form about passkeys that is not from our page, or too old") }
        return ceremony
    }

    private func spend(_ ceremony: PasskeyCeremony) async throws(Failure) {
        guard try await self.runtime.sessions.spend(ceremony.once) else {
            throw Failure(.passkeyRejected, "the response was sent before")
        }
    }

    private func form(_ path: String, _ ceremony: PasskeyCeremony, _ remark: PageText?) -> AccountForm {
        AccountForm(
            action: "\(self.runtime.publicOrigin)\(path)",
            hidden: [(PasskeyCeremony.field, ceremony.sealed(by: self.runtime.sealer))],
            remark: remark.map { PageRemark($0) }
        )
    }

    /// A page after a failure, which is logged.
    private func failed(
        _ page: Response,
        _ failure: Failure,
        _ session: Session,
        _ request: EndpointRequest
    ) -> Response {
        var (page, context) = (page, PageContext())
        (context.provider, context.userKey) = (session.provider, session.profile.user)
        let incident = self.runtime.rendering.logged(failure, at: context, of: request.clientKind)
        page.rejection = Response.Rejection(failure.reason, incident: incident)
        return page
    }

    /// Whether the rules of the app there ask the user of a session for a passkey.
    func needsPasskey(
        _ session: Session,
        on route: RuntimeRoute?,
        _ path: ReturnPath,
        _ request: EndpointRequest
    ) -> Bool {
        guard let route else { return false }
        var facts = RequestFacts(
            method: "GET",
            client: request.client,
            time: request.now,
            authenticated: session.authenticated
        )
        facts.passkeyUsed = session.passkeyUsed
        let plain = Array(path.value.utf8.prefix { $0 != UInt8(ascii: "?") })
        let decision = route.route.decision(
            for: facts,
            path: CanonicalPath.matched(ofReference: plain) ?? plain,
            profile: session.profile,
            guardsSpellings: route.guardsSpellings
        )
        if case .passkeyNeeded = decision { return true }
        return false
    }
}
