// SPDX-License-Identifier: Apache-2.0

internal import GateAccounts
internal import GateClients
internal import GateConfiguration
internal import GateCore
internal import GateHTTP
internal import GateIssuer
internal import GatePages
internal import GatePolicy
internal import GateRuntime
internal import GateSessions
internal import GateWire

// Passwords of local accounts that an app takes itself.
//
// RFC 9700 §2.4 advises against that, since the app sees the password. So it is for the apps whose clients have
// `password_provider`, and for no page in a browser, which could guess with the addresses of its users. All other limits
// and rules are those of a sign-in in the browser.
extension SessionAPI {
    /// Signs a user in.
    func logIn(_ request: EndpointRequest, _ known: inout String) async throws -> Response {
        let (body, client, accounts) = try self.passwordRequest(request, &known)
        let steps = self.steps
        let (signIns, bounds) = (steps.runtime.services.signIns, steps.runtime.limits.signIns)
        return try await steps.counted(.callback, accounts.provider) { () throws(Failure) in
            try signIns.start(by: request.client, within: bounds)
            return try await steps.limited(request) { () throws(Failure) in
                do {
                    return try await self.logIn(body, client, accounts, request)
                } catch {
                    return self.response(to: error, request, of: client.id)
                }
            }
        }
    }

    /// Sends the link of a registration; the response is the same whether or not there is an account.
    func register(_ request: EndpointRequest, _ known: inout String) async throws -> Response {
        let (body, client, accounts) = try self.passwordRequest(request, &known)
        let mail: AccountMailEndpoint
        do throws(Failure) {
            mail = try AccountMailEndpoint(.registration, provider: accounts.provider, self.steps.runtime)
        } catch {
            let message =
                "users cannot register at '\(accounts.provider)': it has no 'registration', or the file no 'mail'"
            throw SessionAPIError(501, "not_enabled", message, .signIn)
        }
        guard body["password"] == nil else {
            // The owner of an email address must not get an account with a password that another user knows.
            let message = "no 'password' is taken here: the user chooses it on the page that the link opens"
            throw SessionAPIError(400, "invalid_request", message, .correctRequest)
        }
        let language = self.steps.runtime.rendering.pages.language(for: body["language"])
        return try await self.steps.limited(request) { () throws(Failure) in
            do {
                guard let address = body["email"].flatMap({ EmailAddress($0) }), mail.admits(address) else {
                    let message = "'email' is not an email address of a domain whose users may register"
                    throw SessionAPIError(400, "email_rejected", message, .correctRequest)
                }
                try mail.sendLink(to: address, name: body["name"], in: language, for: request.client)
                return TokenEndpoints.json(202, .object([:]))
            } catch {
                return self.response(to: error, request, of: client.id)
            }
        }
    }

    /// The members of a request of an app that may take passwords, its client, and the accounts of its users.
    private func passwordRequest(
        _ request: EndpointRequest,
        _ known: inout String
    ) throws -> (body: [String: String], client: ClientSettings, accounts: LocalAccounts) {
        let clients = self.tokens.issuer.clients
        guard clients.values.contains(where: { $0.passwordProvider != nil }) else { throw self.notEnabled }
        guard !request.comesFromPage else {
            let message =
                "no page in a browser may send passwords here: send its users to \(self.steps.runtime.path(.authorize))"
            throw SessionAPIError(403, "page_rejected", message, .correctRequest)
        }
        let body = try self.members(of: request)
        guard let id = body["client_id"] else {
            throw SessionAPIError(400, "invalid_request", "'client_id' is missing", .correctRequest)
        }
        guard let client = clients[id] else {
            throw SessionAPIError(400, "invalid_request", "'client_id' is not a client of the gateway", .correctRequest)
        }
        known = client.id
        guard let provider = client.passwordProvider,
            let accounts = self.steps.runtime.providers[provider]?.accounts
        else { throw self.notEnabled }
        return (body, client, accounts)
    }

    private var notEnabled: SessionAPIError {
        let message =
            "the client has no 'password_provider': sign in at \(self.steps.runtime.path(.authorize)) (RFC 8252)"
        return SessionAPIError(501, "not_enabled", message, .signIn)
    }

    // MARK: Login

    private func logIn(
        _ body: [String: String],
        _ client: ClientSettings,
        _ accounts: LocalAccounts,
        _ request: EndpointRequest
    ) async throws -> Response {
        guard let name = body["username"], let password = body["password"] else {
            let message = "'username' or 'password' is missing"
            throw SessionAPIError(400, "invalid_request", message, .correctRequest)
        }
        let fields = ["scope", "resource"].compactMap { name in body[name].map { Form.Field(name, $0) } }
        var asked = TokenRequest(client: client, form: Form(fields))
        asked.keyThumbprint = try self.tokens.keyThumbprint(for: client, request)
        let terms: (scopes: [String], audiences: [String])
        do throws(OAuthError) {
            terms = try self.tokens.issuer.deviceRequest(asked)
        } catch {
            throw SessionAPIError(400, "invalid_request", error.detail, .correctRequest)
        }
        let mark = body["device"].flatMap { DeviceMark($0, of: accounts) }
        let origin = LocalAccounts.Origin(client: request.client, device: mark)
        let account = try await self.account(name, password, code: body["code"], accounts, origin)

        let runtime = self.steps.runtime
        var signIn = SignIn(profile: accounts.profile(of: account))
        signIn.profile.amr = account.hasSecondFactor ? ["pwd", "otp"] : ["pwd"]
        runtime.dropUnneeded(of: &signIn)
        try await self.steps.complete(&signIn, request)
        let audiences = try self.admitted(
            signIn.profile,
            at: client,
            terms.audiences,
            isNamed: body["resource"] != nil,
            request
        )
        let session = try await self.begin(
            signIn,
            ClientGrant(
                client: client.id,
                scopes: terms.scopes,
                audiences: audiences,
                keyThumbprint: asked.keyThumbprint,
                ownsSignIn: true,
                at: request.now
            ),
            replacing: try await self.earlier(body["refresh_token"], client, request),
            request
        )
        var members = try await self.tokens.firstMembers(of: session, asked, request, nonce: nil)
        members["id_token"] = nil
        members["user"] = .object(
            session.session.profile.claims(
                for: session.grant.scopes,
                of: client,
                methods: session.session.methods
            )
        )
        members["device"] = .string(DeviceMark.renewed(mark, for: account, at: accounts))
        return TokenEndpoints.json(200, .object(members))
    }

    /// The ticket of an earlier sign-in of the app, which the new one replaces; one that began elsewhere goes on.
    private func earlier(_ text: String?, _ client: ClientSettings, _ request: EndpointRequest) async throws -> Ticket?
    {
        guard let text, let token = RefreshToken(text, for: client.id, by: self.steps.runtime.sealer) else {
            return nil
        }
        let sessions = self.steps.runtime.sessions
        let ticket = sessions.ticket(of: token, client: client.id)
        let session = try await sessions.clientSession(ticket, of: client.id, now: request.now)
        return session?.grant.ownsSignIn == true ? ticket : nil
    }

    /// The account whose password and code are right.
    private func account(
        _ name: String,
        _ password: String,
        code: String?,
        _ accounts: LocalAccounts,
        _ origin: LocalAccounts.Origin
    ) async throws -> Account {
        var isCode = false
        var result = try await accounts.check(name, password, from: origin)
        if case .needsCode(let account) = result {
            guard let code else {
                let message = "the user has a second factor: send 'code' beside the password"
                var error = SessionAPIError(403, "code_required", message, .enterCode)
                error.context = self.context(of: accounts.profile(of: account))
                throw error
            }
            isCode = true
            result = try await accounts.check(code: code, of: account, from: origin)
        }
        let failure: Failure
        var error: SessionAPIError
        switch result {
        case .admitted(let account): return account
        case .needsCode: throw OAuthError(.serverError, "a code was asked for twice")
        case .tooMany(let wait):
            failure = Failure(.accountTooMany, "too many attempts for one account", retryAfter: wait)
            error = SessionAPIError(failure)
        case .rejected(let detail):
            failure = Failure(.accountCredentials, detail)
            error =
                isCode
                ? SessionAPIError(403, "wrong_code", "the code is wrong or was used", .enterCode, because: failure)
                : SessionAPIError(403, "wrong_credentials", "name or password is wrong", .signIn, because: failure)
        }
        error.context.provider = accounts.provider
        self.steps.runtime.services.metrics.signIn(provider: accounts.provider, result: failure.code)
        throw error
    }

    /// What log lines have of a user whose password was right.
    private func context(of profile: Profile, at client: ClientSettings? = nil) -> PageContext {
        var context = PageContext()
        (context.provider, context.userKey) = (profile.provider, profile.user)
        context.app = client?.id
        return context
    }

    /// The audiences that the user may have tokens for, before anything is issued.
    private func admitted(
        _ profile: Profile,
        at client: ClientSettings,
        _ audiences: [String],
        isNamed: Bool,
        _ request: EndpointRequest
    ) throws -> [String] {
        let runtime = self.steps.runtime
        var context = self.context(of: profile, at: client)
        func denied(_ code: String, _ message: String, because failure: Failure? = nil) -> SessionAPIError {
            let failure = failure ?? Failure(.policyRefused, "\(profile.user) at \(client.id): \(message)")
            runtime.services.metrics.signIn(provider: profile.provider, result: failure.code)
            var error = SessionAPIError(403, code, message, .signIn, because: failure)
            error.context = context
            return error
        }
        let passkey = "a rule asks for a passkey: sign in at \(runtime.path(.authorize))"
        switch client.decision(about: profile, from: request.ruledClient, now: request.now) {
        case .admitted: break
        case .denied(let denial):
            context.rule = Decision.denied(denial).place
            let failure = denial.failure(of: profile, app: client.id)
            throw denied("access_denied", "the rules of the client do not admit the user", because: failure)
        case .passkeyNeeded: throw denied("passkey_required", passkey)
        case .signInNeeded, .authenticationNeeded, .openToAll, .openToNetwork, .scopesNeeded:
            throw OAuthError(.serverError, "the rules of the client admit no user")
        }
        let permitted = runtime.routes.permitted(audiences, to: profile, at: request.now)
        guard !permitted.isEmpty, !isNamed || permitted.count == audiences.count else {
            throw denied("access_denied", "the user may not enter the apps that the token would be for")
        }
        let asksForPasskey = runtime.routes.needsPasskey(profile, for: permitted, request.ruledClient, now: request.now)
        guard !isNamed || !asksForPasskey else { throw denied("passkey_required", passkey) }
        return permitted
    }

    /// Issues the session of the user, whose ticket no client gets, and in its family that of the client.
    private func begin(
        _ signIn: SignIn,
        _ grant: ClientGrant,
        replacing old: Ticket?,
        _ request: EndpointRequest
    ) async throws -> ClientSession {
        let (runtime, steps) = (self.steps.runtime, self.steps)
        let id = runtime.services.random.identifier(16)
        let once = SingleUse("app-sign-in", id, until: request.now.advanced(by: .seconds(60)))
        // As a whole: half of it would have no client that ends it.
        return try await uncancelled { () throws(Failure) in
            guard let issued = try await steps.issue(signIn, spending: once, replacing: old, request) else {
                throw Failure(.sessionStoreUnavailable, "the sign-in that has just begun was spent before")
            }
            let host = runtime.hosts.publicOrigin.host
            return try await runtime.sessions.issue(grant, owning: issued, gatewayHost: host, now: request.now)
        }
    }
}
