// SPDX-License-Identifier: Apache-2.0

internal import GateAccounts
internal import GateConfiguration
internal import GateCore
internal import GateHTTP
internal import GateOpenID
internal import GatePages
internal import GatePasskeys
internal import GateRuntime
internal import GateSessions
internal import HTTPTypes

// Sign-ins with the password of a local account.
//
// The form belongs to a sign-in attempt as that of any other provider: its cookie binds the form to the browser, and the
// attempt ends in `enter`, which spends it.
extension Endpoints {
    private static let proofField = "proof"
    private static let stateField = "state"

    /// Begins an attempt and shows the form for name and password.
    func start(
        _ request: EndpointRequest,
        with provider: RuntimeProvider,
        browser: String?
    ) throws(Failure) -> Response {
        let kept = self.runtime.kept(request.returnPath, on: request.origin, in: request.cookies)
        let attempt = Attempt(
            provider: provider.id,
            returnPath: kept.path,
            replacedTicket: nil,
            demand: self.demand(of: request.returnPath, for: request),
            browser: browser,
            now: request.now,
            random: self.runtime.services.random
        )
        let hint = self.loginHint(of: request) ?? ""
        let remark = request.refusedPath.map { _ in PageRemark(.linkDropped) }
        var page = self.passwordPage(attempt, name: hint, remark: remark, request)
        page.addCookies(kept.cookies)
        try self.attempts(of: request).begin(attempt, in: &page)
        return page
    }

    /// Takes a password or a code.
    func password(_ request: EndpointRequest, provider id: String) async throws(Failure) -> Response {
        guard let provider = self.runtime.providers[id], let accounts = provider.accounts, self.isOnGatewayHost(request)
        else { throw Failure(.providerNone, "a password for an unknown provider") }
        guard request.comesFromOurPages else { throw Failure(.requestCrossSite, "another site posted to password") }
        guard let form = request.form else { throw Failure(.openIDCallback, "the password is not in a form") }
        guard let attempt = self.attempts(of: request).attempt(named: form) else {
            return try await self.withoutAttempt(request, to: .root)
        }
        guard attempt.provider == id else {
            throw Failure(.openIDProviderMismatch, "the attempt began with \(attempt.provider)")
        }
        guard let state = form[Endpoints.stateField], constantTimeEquals(Array(state.utf8), Array(attempt.state.utf8))
        else { throw Failure(.openIDStateMismatch, "the form does not belong to the attempt") }
        guard request.now < attempt.expiry else { throw Failure(.openIDAttemptExpired, "the form is too old") }
        if form[PasskeyForm.credential] != nil { return try await self.passkey(of: attempt, accounts, request) }
        let origin = self.origin(of: request, accounts)
        let proof = form[Endpoints.proofField]
        let result: LocalAccounts.PasswordResult
        if let proof {
            guard let opened = PasswordProof(proof, attempt: attempt.id, of: accounts) else {
                return self.passwordPage(attempt, remark: PageRemark(.accountFormLate), request)
            }
            let code = form[AccountForm.Field.code] ?? ""
            result = try await accounts.check(code: code, after: opened, from: origin)
        } else {
            let password = form[AccountForm.Field.password] ?? ""
            result = try await accounts.check(form[AccountForm.Field.username] ?? "", password, from: origin)
        }
        switch result {
        case .admitted(let account):
            var signIn = SignIn(profile: accounts.profile(of: account))
            signIn.profile.amr = proof == nil ? ["pwd"] : ["pwd", "otp"]
            return try await self.enter(signIn, as: account, accounts, attempt, request)
        case .needsCode(let account):
            return self.codePage(attempt, PasswordProof.text(for: account, attempt: attempt.id, of: accounts), request)
        case .rejected(let detail):
            let failure = Failure(.accountCredentials, detail)
            return self.page(again: attempt, proof: proof, after: failure, request)
        case .tooMany(let wait):
            let failure = Failure(.accountTooMany, "too many attempts for one account", retryAfter: wait)
            return self.page(again: attempt, proof: proof, after: failure, request)
        }
    }

    /// Signs the user of a passkey in; its challenge is that of the attempt, which is spent with it.
    private func passkey(
        of attempt: Attempt,
        _ accounts: LocalAccounts,
        _ request: EndpointRequest
    ) async throws(Failure) -> Response {
        guard let passkeys = self.runtime.users.passkeys, let challenge = attempt.challenge else {
            throw Failure(.passkeyRejected, "the file has no 'passkeys'")
        }
        let found: (account: Account, passkey: SavedPasskey)
        do throws(Failure) {
            let response = try request.passkeyAssertion()
            found = try await uncancelled { () throws(Failure) in
                try await accounts.account(ofPasskey: response, in: passkeys, challenge: challenge)
            }
        } catch {
            guard let remark = error.passkeyRemark else { throw error }
            let page = self.passwordPage(
                attempt,
                remark: PageRemark(remark),
                status: error.reason.entry.status,
                request
            )
            return self.noted(error, on: page, attempt, request)
        }
        var signIn = SignIn(profile: accounts.profile(of: found.account))
        signIn.passkeyUsed = (at: request.now, method: found.passkey.passkey.method)
        return try await self.enter(signIn, as: found.account, accounts, attempt, request)
    }

    /// Gives the user of a local account a session, and the browser the mark that this user has signed in there.
    private func enter(
        _ signIn: SignIn,
        as account: Account,
        _ accounts: LocalAccounts,
        _ attempt: Attempt,
        _ request: EndpointRequest
    ) async throws(Failure) -> Response {
        var response: Response
        do throws(Failure) {
            response = try await self.enter(signIn, attempt, request)
        } catch {
            guard error.reason == .openIDAttemptSpent else { throw error }
            return try await self.withoutAttempt(request, to: attempt.returnPath)
        }
        let mark = DeviceMark.renewed(self.deviceMark(of: request, accounts), for: account, at: accounts)
        response.addCookie(self.deviceCookie.setting(mark))
        return response
    }

    // MARK: Pages

    private func passwordPage(
        _ attempt: Attempt,
        name: String = "",
        remark: PageRemark? = nil,
        status: Int = 200,
        _ request: EndpointRequest
    ) -> Response {
        let form = self.form(attempt, [], remark)
        let pages = self.runtime.rendering.pages
        let app = self.destination(of: attempt.returnPath, for: request).map { route in
            (name: route.title, icon: pages.address(ofPicture: route.display.icon))
        }
        var passkey: PasskeyForm?
        if let passkeys = self.runtime.users.passkeys, let challenge = attempt.challenge {
            let assertion = PasskeyAssertion(passkeys.relyingParty, challenge: challenge)
            passkey = PasskeyForm(self.form(attempt, [], nil), .autofill, options: assertion.options)
        }
        return Rendering.page(
            status,
            pages.password(
                form,
                name: name,
                app: app,
                passkey: passkey,
                recover: self.runtime.users.mailer.map { _ in self.address(.recover, of: attempt.provider) },
                join: self.offersRegistration(at: attempt.provider)
                    ? self.address(.join, of: attempt.provider) : nil,
                in: self.language(of: request)
            ),
            formTargets: self.formTargets(of: attempt.returnPath, for: request),
            script: passkey.map { _ in self.runtime.address(.passkeyScript) }
        )
    }

    private func address(_ path: EndpointPath, of provider: String) -> String {
        "\(self.runtime.address(path))/\(provider)"
    }

    private func offersRegistration(at provider: String) -> Bool {
        self.runtime.users.mailer != nil && self.runtime.providers[provider]?.accounts?.registration != nil
    }

    private func codePage(
        _ attempt: Attempt,
        _ proof: String,
        remark: PageRemark? = nil,
        status: Int = 200,
        _ request: EndpointRequest
    ) -> Response {
        let form = self.form(attempt, [(Endpoints.proofField, proof)], remark)
        let targets = self.formTargets(of: attempt.returnPath, for: request)
        return Rendering.page(
            status,
            self.runtime.rendering.pages.code(form, in: self.language(of: request)),
            formTargets: targets
        )
    }

    private func form(_ attempt: Attempt, _ more: [(name: String, value: String)], _ remark: PageRemark?) -> AccountForm
    {
        AccountForm(
            action: "\(self.runtime.address(.password))/\(attempt.provider)",
            hidden: [(Endpoints.stateField, attempt.state)] + more,
            remark: remark
        )
    }

    /// The same form after a failure; its text does not depend on whether there is such an account.
    private func page(
        again attempt: Attempt,
        proof: String?,
        after failure: Failure,
        _ request: EndpointRequest
    ) -> Response {
        let entry = failure.reason.entry
        let seconds = failure.retryAfter.map { max(1, $0.wholeSeconds + 1) }
        let wait = seconds.map { PageRemark(.accountFormWait, ["seconds": "\($0)"]) }
        let wrong = PageRemark(proof == nil ? .accountFormWrong : .codeWrong)
        let name = request.form?[AccountForm.Field.username] ?? ""
        var page: Response
        if let proof {
            page = self.codePage(attempt, proof, remark: wait ?? wrong, status: entry.status, request)
        } else {
            let shown = name.utf8.count <= 320 ? name : ""
            page = self.passwordPage(attempt, name: shown, remark: wait ?? wrong, status: entry.status, request)
        }
        if let seconds { page.head.headerFields[.retryAfter] = "\(seconds)" }
        return self.noted(failure, on: page, attempt, request)
    }

    /// A page after a failure, which is logged and counted.
    private func noted(
        _ failure: Failure,
        on page: Response,
        _ attempt: Attempt,
        _ request: EndpointRequest
    ) -> Response {
        var page = page
        var context = PageContext()
        context.provider = attempt.provider
        let incident = self.runtime.rendering.logged(failure, at: context, of: request.clientKind)
        page.rejection = Response.Rejection(failure.reason, incident: incident)
        self.runtime.services.metrics.signIn(provider: attempt.provider, result: failure.code)
        return page
    }

    // MARK: Devices

    /// The cookie that marks a browser from which a user has signed in.
    var deviceCookie: GatewayCookie {
        GatewayCookie.device(at: self.runtime.hosts.publicOrigin, for: DeviceMark.lifetime)
    }

    /// The mark of the browser; nil if it has none.
    func deviceMark(of request: EndpointRequest, _ accounts: LocalAccounts) -> DeviceMark? {
        request.value(of: self.deviceCookie).flatMap {
            DeviceMark(String(decoding: $0, as: UTF8.self), of: accounts)
        }
    }

    /// Where a password comes from.
    func origin(of request: EndpointRequest, _ accounts: LocalAccounts) -> LocalAccounts.Origin {
        LocalAccounts.Origin(client: request.client, device: self.deviceMark(of: request, accounts))
    }
}

extension Attempt {
    /// The challenge for a passkey: the random part of the state, which only this browser knows and which is spent with the attempt.
    fileprivate var challenge: PasskeyChallenge? {
        self.state.split(separator: ".").last.flatMap { try? PasskeyChallenge(Array($0.utf8)) }
    }
}
