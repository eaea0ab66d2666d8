// SPDX-License-Identifier: Apache-2.0

internal import GateAccounts
internal import GateConfiguration
internal import GateCore
internal import GateHTTP
internal import GateHeaders
internal import GateOperations
internal import GatePages
internal import GatePasskeys
internal import GateProviders
internal import GateRuntime
internal import GateSessions
internal import GateWire

// The passkeys of signed-in users: to use one, where a rule asks for it, and to add and remove them.
extension Endpoints {
    private var passkeyPage: SignedInPage { SignedInPage(runtime: self.runtime, path: self.runtime.path(.passkey)) }
    private var passkeysPage: SignedInPage { SignedInPage(runtime: self.runtime, path: self.runtime.path(.passkeys)) }

    /// The passkeys of the gateway.
    private func passkeysInUse() throws(Failure) -> Passkeys {
        guard let passkeys = self.runtime.users.passkeys else {
            throw Failure(.endpointNone, "the file has no 'passkeys'")
        }
        return passkeys
    }

    private func ownedPasskeys(_ passkeys: Passkeys, _ session: Session) async throws(Failure) -> OwnedPasskeys {
        try await OwnedPasskeys(of: session.profile.user, in: passkeys, with: self.runtime.users.connections)
    }

    /// The request for a passkey that a form of ours carries out.
    private func ceremony(
        _ purposes: [PasskeyCeremony.Purpose],
        in request: EndpointRequest
    ) throws(Failure) -> PasskeyCeremony {
        guard request.comesFromOurPages, request.isNavigation,
            let ceremony = PasskeyCeremony(in: request.form, by: self.runtime.sealer),
            purposes.contains(ceremony.purpose)
        else { throw Failure(.requestCrossSite, "a form about passkeys that is not from our page") }
        return ceremony
    }

    // MARK: Use

    /// The page that asks for a passkey, and the browser's response.
    func passkey(_ request: EndpointRequest) async throws(Failure) -> Response {
        let passkeys = try self.passkeysInUse()
        guard self.isOnGatewayHost(request) else {
            let redirect = SignInRedirect(runtime: self.runtime)
            let path = request.returnPath
            return redirect.redirect(
                to: path,
                on: request.origin,
                route: nil,
                cookies: request.cookies,
                step: .passkey
            )
        }
        let session: Session
        switch try await self.passkeyPage.session(of: request) {
        case .elsewhere(let response): return response
        case .session(let found): session = found
        }
        let known = try await self.ownedPasskeys(passkeys, session)
        guard request.method == .post else {
            return self.page(toUse: known, session, leadingTo: request.statedPath, request)
        }
        let ceremony = try self.ceremony([.use], in: request)
        return try await self.steps.limited(request) { () throws(Failure) in
            do throws(Failure) {
                guard let use = PasskeyUse(known, of: session, runtime: self.runtime) else { throw PasskeyUse.late }
                try await use.verify(request, ceremony)
            } catch {
                let page = self.page(toUse: known, session, leadingTo: ceremony.returnPath, after: error, request)
                return try self.noted(error, on: page, session, request)
            }
            return self.redirect(to: ceremony.returnPath ?? .root)
        }
    }

    private func page(
        toUse known: OwnedPasskeys,
        _ session: Session,
        leadingTo path: ReturnPath?,
        after failure: Failure? = nil,
        _ request: EndpointRequest
    ) -> Response {
        let form = PasskeyUse(known, of: session, runtime: self.runtime)?.form(
            .use,
            on: self.passkeyPage,
            leadingTo: path,
            remark: failure?.passkeyRemark,
            now: request.now
        )
        let html = self.runtime.rendering.pages.passkey(
            form,
            user: self.runtime.user(of: session),
            passkeys: form == nil
                ? self.passkeysPage.confirmation(of: session, leadingTo: path)
                : self.passkeysPage.address(leadingTo: path),
            in: self.language(of: request)
        )
        return self.passkeyPage(html, leadingTo: path, after: failure, request)
    }

    private func passkeyPage(
        _ html: String,
        leadingTo path: ReturnPath?,
        after failure: Failure?,
        _ request: EndpointRequest
    ) -> Response {
        Rendering.page(
            failure?.reason.entry.status ?? 200,
            html,
            formTargets: self.formTargets(of: path ?? .root, for: request),
            script: self.runtime.address(.passkeyScript)
        )
    }

    // MARK: Changes

    /// The page with a user's passkeys, and the form that adds or removes one.
    func passkeys(_ request: EndpointRequest) async throws(Failure) -> Response {
        let passkeys = try self.passkeysInUse()
        let session: Session
        switch try await self.passkeysPage.session(of: request) {
        case .elsewhere(let response): return response
        case .session(let found): session = found
        }
        let known = try await self.ownedPasskeys(passkeys, session)
        let use = PasskeyUse(known, of: session, runtime: self.runtime)
        guard request.method == .post else {
            var isConfirmed = false
            if use == nil { isConfirmed = try await self.passkeysPage.isConfirmed(session, request) }
            let path = request.statedPath
            return try self.page(toChange: known, passkeys, session, isConfirmed, leadingTo: path, request)
        }
        let ceremony = try self.ceremony([.confirm, .change], in: request)
        return try await self.steps.limited(request) { () throws(Failure) in
            do throws(Failure) {
                guard ceremony.purpose == .confirm else {
                    return try await self.change(passkeys, known, session, ceremony, request)
                }
                guard let use else { throw PasskeyUse.late }
                try await use.verify(request, ceremony)
                // Only this response has the form: a copy of the cookie has not.
                let known = try await self.ownedPasskeys(passkeys, session)
                let path = ceremony.returnPath
                return try self.page(toChange: known, passkeys, session, true, leadingTo: path, request)
            } catch {
                let path = ceremony.returnPath
                let page = try self.page(
                    toChange: known,
                    passkeys,
                    session,
                    false,
                    leadingTo: path,
                    after: error,
                    request
                )
                return try self.noted(error, on: page, session, request)
            }
        }
    }

    private func change(
        _ passkeys: Passkeys,
        _ known: OwnedPasskeys,
        _ session: Session,
        _ ceremony: PasskeyCeremony,
        _ request: EndpointRequest
    ) async throws(Failure) -> Response {
        let user = session.profile.user
        // The first passkey needs a sign-in, each change after that a passkey.
        guard ceremony.isCurrent(in: session, now: request.now), ceremony.isFirst == known.all.isEmpty
        else { throw PasskeyUse.late }
        if let id = request.form?[PasskeyForm.removed] {
            guard try await self.runtime.sessions.spend(ceremony.once) else { throw PasskeyUse.late }
            let (sessions, profile, family) = (self.runtime.sessions, session.profile, session.familyKey)
            let others = try await self.runtime.users.connections?.sharingKey(with: user) ?? []
            let removed = try await uncancelled { () throws(Failure) -> SavedPasskey? in
                guard let removed = try await passkeys.remove(id, of: known.owner(of: id) ?? user) else { return nil }
                // It may be lost, and have been used in them.
                _ = try await sessions.endAll(of: profile, but: family)
                for other in others { _ = try await sessions.endAll(of: other.profile) }
                return removed
            }
            if let removed {
                self.runtime.services.log.credentialsChanged(user, "passkey removed: \(removed.passkey.name)")
            }
            return self.redirectToPasskeys(ceremony.returnPath)
        }
        let registration = try self.registration(passkeys, known, session, ceremony)
        let response = try request.passkeyResponse()
        guard try await self.runtime.sessions.spend(ceremony.once) else { throw PasskeyUse.late }
        let name = Endpoints.passkeyName(request.form?[PasskeyForm.name] ?? "")
        let handle = ceremony.handle
        let added = try await uncancelled { () throws(Failure) in
            try await passkeys.add(response, to: registration, name: name, user: user, handle: handle)
        }
        self.runtime.services.log.credentialsChanged(user, "passkey added: \(name)")
        // The device has verified the user just now.
        guard let passkey = added.all.last?.passkey else { throw PasskeyUse.late }
        try await PasskeyUse.note(passkey, in: request, session, self.runtime)
        return ceremony.returnPath.map { self.redirect(to: $0) } ?? self.redirectToPasskeys(nil)
    }

    private func page(
        toChange known: OwnedPasskeys,
        _ passkeys: Passkeys,
        _ session: Session,
        _ isConfirmed: Bool,
        leadingTo path: ReturnPath?,
        after failure: Failure? = nil,
        _ request: EndpointRequest
    ) throws(Failure) -> Response {
        let remark = failure?.passkeyRemark
        let state: PasskeysView.State
        if isConfirmed {
            state = .confirmed(try self.form(toChange: known, passkeys, session, leadingTo: path, request))
        } else if let use = PasskeyUse(known, of: session, runtime: self.runtime) {
            let now = request.now
            state = .usesPasskey(
                use.form(.confirm, on: self.passkeysPage, leadingTo: path, remark: remark, now: now)
            )
        } else {
            state = .signsIn(
                address: self.passkeysPage.confirmation(of: session, leadingTo: path),
                remark: remark.map { PageRemark($0) }
            )
        }
        let view = PasskeysView(
            known.all.map { saved in
                PasskeysView.Passkey(
                    id: saved.id,
                    name: saved.passkey.name,
                    added: saved.added,
                    used: saved.used,
                    isSynced: saved.passkey.isBackedUp
                )
            },
            state,
            suggestedName: request.userAgent.flatMap { DeviceSummary.text(of: $0) } ?? "Passkey",
            hasChanged: request.query?[SignedInPage.changed.name] == SignedInPage.changed.value,
            account: self.runtime.address(.account)
        )
        let html = self.runtime.rendering.pages.passkeys(
            view,
            user: self.runtime.user(of: session),
            in: self.language(of: request)
        )
        var response = self.passkeyPage(html, leadingTo: path, after: failure, request)
        if request.method != .post {
            response.addCookie(GatewayCookie.confirmation(at: self.runtime.hosts.publicOrigin).deletion)
        }
        return response
    }

    private func form(
        toChange known: OwnedPasskeys,
        _ passkeys: Passkeys,
        _ session: Session,
        leadingTo path: ReturnPath?,
        _ request: EndpointRequest
    ) throws(Failure) -> PasskeyForm {
        let ceremony = PasskeyCeremony(
            .change,
            handle: known.own?.handle ?? passkeys.newHandle(of: session.profile, isLocal: self.isLocal(session)),
            isFirst: known.all.isEmpty,
            returnPath: path,
            of: session,
            now: request.now,
            random: self.runtime.services.random
        )
        let form = AccountForm(
            action: self.passkeysPage.address(leadingTo: nil),
            hidden: [(PasskeyCeremony.field, ceremony.sealed(by: self.runtime.sealer))]
        )
        let options = try self.registration(passkeys, known, session, ceremony).options
        return PasskeyForm(form, .create, options: options)
    }

    private func isLocal(_ session: Session) -> Bool { self.runtime.providers[session.provider]?.accounts != nil }

    private func registration(
        _ passkeys: Passkeys,
        _ known: OwnedPasskeys,
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
            registration.existing = known.all.map(\.passkey)
            // Security keys have little space, and only a sign-in with a local account needs a passkey that names its user.
            registration.residentKey = self.isLocal(session) ? .required : .preferred
            return registration
        } catch {
            throw Failure(.passkeyRejected, "\(profile.user): \(error.message)")
        }
    }

    private func redirectToPasskeys(_ path: ReturnPath?) -> Response {
        let fields = (path.map { [self.runtime.field($0)] } ?? []) + [SignedInPage.changed]
        return Rendering.redirect(
            to: "\(self.runtime.address(.passkeys))?\(Form(fields).encoded)"
        )
    }

    /// A name for a passkey: what a user has typed, or its beginning.
    private static func passkeyName(_ typed: String) -> String {
        let name = typed.unicodeScalars.prefix(60).filter { !$0.properties.isNoncharacterCodePoint }
        let plain = String(String.UnicodeScalarView(name)).split(separator: " ").joined(separator: " ")
        return plain.isEmpty || !PrintableText.isPrintable(plain) ? "Passkey" : plain
    }

    /// A page after a failure that the user can do something about, which is logged; all others are thrown again.
    private func noted(
        _ failure: Failure,
        on page: Response,
        _ session: Session,
        _ request: EndpointRequest
    ) throws(Failure) -> Response {
        guard failure.passkeyRemark != nil else { throw failure }
        var (page, context) = (page, PageContext())
        (context.provider, context.userKey) = (session.provider, session.profile.user)
        let incident = self.runtime.rendering.logged(failure, at: context, of: request.clientKind)
        page.rejection = Response.Rejection(failure.reason, incident: incident)
        return page
    }
}
