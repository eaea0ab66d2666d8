// SPDX-License-Identifier: Apache-2.0

internal import GateAccounts
internal import GateCore
internal import GateHTTP
internal import GateOperations
internal import GatePages
internal import GateRuntime
internal import GateSessions
internal import GateWire

/// The accounts at several providers that a user has connected, by signing in with each.
///
/// A connection begins on the page of a signed-in user, who then signs in with the other account. That sign-in begins no session: it
/// leads to a question, which names the other account, and only the consent connects the two.
struct ConnectedEndpoint {
    /// The name of the field with the request to connect.
    private static let wanted = "with"
    private static let sealing = "connected/request"
    /// How long a user may take to sign in with the other account.
    private static let lifetime = Duration.seconds(600)

    private let runtime: RuntimeConfiguration
    private var page: SignedInPage { SignedInPage(runtime: self.runtime, path: self.runtime.path(.connected)) }

    init(runtime: RuntimeConfiguration) {
        self.runtime = runtime
    }

    private func connections() throws(Failure) -> AccountConnections {
        guard let connections = self.runtime.users.connections else {
            throw Failure(.endpointNone, "the file has no 'connected_accounts'")
        }
        return connections
    }

    /// The page, and the changes that its forms ask for.
    func response(to request: EndpointRequest) async throws(Failure) -> Response {
        let connections = try self.connections()
        let session: Session
        switch try await self.page.session(of: request) {
        case .elsewhere(let response): return response
        case .session(let found): session = found
        }
        var known: OwnedPasskeys?
        if let passkeys = self.runtime.users.passkeys {
            known = try await OwnedPasskeys(of: session.profile.user, in: passkeys, with: connections)
        }
        let use = PasskeyUse(known, of: session, runtime: self.runtime)
        guard request.method == .post else {
            var isConfirmed = false
            if use == nil { isConfirmed = try await self.page.isConfirmed(session, request) }
            return try await self.list(connections, session, use, isConfirmed, request)
        }
        guard request.comesFromOurPages, request.isNavigation else {
            throw Failure(.requestCrossSite, "a change of connected accounts that is not from our page")
        }
        do throws(Failure) {
            if let ceremony = PasskeyCeremony(in: request.form, by: self.runtime.sealer) {
                guard ceremony.purpose == .confirm, let use else { throw PasskeyUse.late }
                try await use.verify(request, ceremony)
                // Only this response has the sign-ins and the form: a copy of the cookie has not.
                return try await self.list(connections, session, use, true, request)
            }
            return try await self.change(connections, session, request)
        } catch {
            guard error.reason == .accountConnected || error.passkeyRemark != nil else { throw error }
            var response = try await self.list(connections, session, use, false, after: error, request)
            self.note(error, session, on: &response, request)
            return response
        }
    }

    private func change(
        _ connections: AccountConnections,
        _ session: Session,
        _ request: EndpointRequest
    ) async throws(Failure) -> Response {
        let (user, sealer, sessions) = (session.profile.user, self.runtime.sealer, self.runtime.sessions)
        let text = request.form?[Consent.field] ?? ""
        let other: Profile
        if let consent = Consent(.disconnect, sealed: text, by: sealer, now: request.now), consent.isOf(session) {
            let key = request.form?[ConnectedView.removed] ?? ""
            guard let account = try await connections.accounts(of: user)?.other(key) else {
                return Rendering.redirect(to: self.page.address(leadingTo: nil))
            }
            other = account.profile
            // Also before: what fails half-way can be repeated.
            _ = try await uncancelled { () throws(Failure) in
                _ = try await sessions.endAll(of: account.profile)
                return try await connections.disconnect(key, of: user)
            }
            self.runtime.services.log.credentialsChanged(user, "account disconnected: \(key)")
        } else if let consent = Consent(.connect, sealed: text, by: sealer, now: request.now), consent.isOf(session),
            let wanted = Profile(connecting: consent.form)
        {
            other = wanted
            _ = try await uncancelled { () throws(Failure) in
                try await connections.connect(wanted, to: session.profile)
            }
            self.runtime.services.log.credentialsChanged(user, "account connected: \(wanted.user)")
        } else {
            throw PasskeyUse.late
        }
        // Its sessions have another key for apps now.
        _ = try await uncancelled { () throws(Failure) in try await sessions.endAll(of: other) }
        let changed = Form([SignedInPage.changed]).encoded
        return Rendering.redirect(to: "\(self.page.address(leadingTo: nil))?\(changed)")
    }

    private func list(
        _ connections: AccountConnections,
        _ session: Session,
        _ use: PasskeyUse?,
        _ isConfirmed: Bool,
        after failure: Failure? = nil,
        _ request: EndpointRequest
    ) async throws(Failure) -> Response {
        let known = try await connections.accounts(of: session.profile.user)
        let accounts = (known?.all ?? []).map { account in
            ConnectedView.Account(
                id: account.user,
                name: account.name,
                provider: self.runtime.providers.name(of: account.provider),
                added: account.added,
                isFirst: isIdentical(account.user, known?.first ?? ""),
                isHere: isIdentical(account.user, session.profile.user)
            )
        }
        let view = ConnectedView(
            accounts,
            self.state(session, use, isConfirmed, after: failure, now: request.now),
            forwardsFirst: connections.forwardsFirst,
            hasChanged: request.query?[SignedInPage.changed.name] == SignedInPage.changed.value,
            account: self.runtime.address(.account)
        )
        let pages = self.runtime.rendering.pages
        let language = self.runtime.rendering.language(for: request.clientKind)
        let html = pages.connected(view, user: self.runtime.user(of: session), in: language)
        let origin = self.runtime.hosts.publicOrigin
        var response = Rendering.page(
            failure?.reason.entry.status ?? 200,
            html,
            script: use.map { _ in self.runtime.address(.passkeyScript) }
        )
        if request.method != .post { response.addCookie(GatewayCookie.confirmation(at: origin).deletion) }
        return response
    }

    private func state(
        _ session: Session,
        _ use: PasskeyUse?,
        _ isConfirmed: Bool,
        after failure: Failure?,
        now: Instant
    ) -> ConnectedView.State {
        if isConfirmed {
            let consent = Consent(.disconnect, to: Form(), of: session, now: now)
            let form = AccountForm(
                action: self.page.address(leadingTo: nil),
                hidden: [(Consent.field, consent.sealed(by: self.runtime.sealer))]
            )
            return .confirmed(self.buttons(session, now: now), form)
        }
        let remark = failure.map { $0.passkeyRemark ?? .connectFailed }
        if let use {
            return .unconfirmed(
                .usesPasskey(use.form(.confirm, on: self.page, leadingTo: nil, remark: remark, now: now))
            )
        }
        let address = self.page.confirmation(of: session)
        return .unconfirmed(.signsIn(address: address, remark: remark.map { PageRemark($0) }))
    }

    private func note(
        _ failure: Failure,
        _ session: Session,
        on response: inout Response,
        _ request: EndpointRequest
    ) {
        var context = PageContext()
        (context.provider, context.userKey) = (session.provider, session.profile.user)
        let incident = self.runtime.rendering.logged(failure, at: context, of: request.clientKind)
        response.rejection = Response.Rejection(failure.reason, incident: incident)
    }

    /// The starts of sign-ins that connect an account.
    private func buttons(_ session: Session, now: Instant) -> [PageButton] {
        let expires = now.advanced(by: ConnectedEndpoint.lifetime)
        let members: JSON = ["family": .string(session.signInID), "expires": .int(expires.seconds)]
        let sealed = Base64URL.encode(self.runtime.sealer.seal(members.encoded, for: ConnectedEndpoint.sealing))
        let back = "\(self.runtime.path(.connected))?\(Form([Form.Field(ConnectedEndpoint.wanted, sealed)]).encoded)"
        let query = Form([Form.Field("rd", back), .selectAccount]).encoded
        return self.runtime.providers.all.map { provider in
            PageButton(
                address: "\(self.runtime.address(.start))/\(provider.id)?\(query)",
                label: provider.buttonLabel,
                picture: self.runtime.rendering.pages.address(ofPicture: provider.icon)
            )
        }
    }

    // MARK: Sign-ins

    /// The sign-in with which an attempt is to connect the account of its user; nil if it is a usual one.
    func wantedSignIn(of attempt: ReturnPath, now: Instant) -> String? {
        let sides = attempt.value.split(separator: "?", maxSplits: 1)
        guard self.runtime.users.connections != nil, sides.count == 2, sides[0] == self.runtime.path(.connected),
            let text = Form(encoded: sides[1])?[ConnectedEndpoint.wanted], text.utf8.count <= 512,
            let sealed = Base64URL.decode(text),
            let plain = self.runtime.sealer.open(sealed, for: ConnectedEndpoint.sealing),
            let json = try? JSON(parsing: plain, depth: 1), let family = json["family"]?.string,
            let expires = json["expires"]?.integer, now < Instant(seconds: expires)
        else { return nil }
        return family
    }

    /// Asks the user of a session whether an account is to be connected, with which the browser has just signed in.
    ///
    /// - Parameters:
    ///   - other: The account.
    ///   - family: The id of the sign-in on whose page this began.
    ///   - ticket: The ticket of the browser's session.
    ///   - request: The request.
    /// - Returns: The page with the question.
    /// - Throws: `account.connected` if the browser has no session of that sign-in any more.
    func question(
        about other: Profile,
        to family: String,
        _ ticket: Ticket?,
        _ request: EndpointRequest
    ) async throws(Failure) -> Response {
        let host = self.runtime.hosts.publicOrigin.host
        var session: Session?
        if let ticket {
            session = try await self.runtime.sessions.session(for: ticket, host: host, now: request.now)
        }
        guard let session, isIdentical(session.signInID, family) else {
            throw Failure(.accountConnected, "\(other.user): the session to connect it to has ended")
        }
        guard !isIdentical(other.user, session.profile.user) else {
            throw Failure(.accountConnected, "\(other.user) is the account of the session")
        }
        let consent = Consent(.connect, to: other.connecting, of: session, now: request.now)
        let form = AccountForm(
            action: self.page.address(leadingTo: nil),
            hidden: [(Consent.field, consent.sealed(by: self.runtime.sealer))]
        )
        let view = ConnectView(
            name: other.email ?? other.username ?? other.name ?? other.subject,
            provider: self.runtime.providers.name(of: other.provider),
            forwardsFirst: self.runtime.users.connections?.forwardsFirst ?? false,
            cancel: self.page.address(leadingTo: nil)
        )
        let language = self.runtime.rendering.language(for: request.clientKind)
        let user = self.runtime.user(of: session)
        return Rendering.page(200, self.runtime.rendering.pages.connect(view, form, user: user, in: language))
    }
}

extension Profile {
    /// The account as the question about it carries it.
    fileprivate var connecting: Form {
        Form([
            Form.Field("provider", self.provider), Form.Field("issuer", self.issuer),
            Form.Field("subject", self.subject),
            Form.Field("name", self.email ?? self.username ?? self.name ?? self.subject),
        ])
    }

    fileprivate init?(connecting form: Form) {
        guard let provider = form["provider"], let issuer = form["issuer"], let subject = form["subject"],
            let name = form["name"]
        else { return nil }
        self.init(provider: provider, issuer: issuer, subject: subject)
        self.name = name
    }
}
