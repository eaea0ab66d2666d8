// SPDX-License-Identifier: Apache-2.0

internal import GateAccounts
internal import GateConfiguration
internal import GateCore
internal import GateHTTP
internal import GateOperations
internal import GatePages
internal import GateRuntime
internal import GateSessions
internal import GateWire
internal import HTTPTypes

// What users of local accounts do to their credentials.
extension Endpoints {
    private static let tokenField = "token"
    private static let enrolmentField = "enrolment"

    // MARK: Links

    /// The page on which a user chooses a password, and the password.
    ///
    /// A `GET` changes nothing, so that programs which look at links in messages do not use one up.
    func accountLink(_ request: EndpointRequest, provider id: String) async throws(Failure) -> Response {
        guard let accounts = self.runtime.providers[id]?.accounts, self.isOnGatewayHost(request) else {
            throw Failure(.providerNone, "a link of an unknown provider")
        }
        let isPost = request.method == .post
        guard !isPost || request.comesFromOurPages else {
            throw Failure(.requestCrossSite, "another site posted to link")
        }
        let token = (isPost ? request.form : request.query)?[Endpoints.tokenField] ?? ""
        guard let account = try await accounts.account(ofLink: token) else {
            throw Failure(.accountLink, "the link is unknown, used or over")
        }
        guard isPost else { return self.linkPage(account, token, accounts, request) }
        let new = request.form?[AccountForm.Field.newPassword] ?? ""
        guard isIdentical(new, request.form?[AccountForm.Field.repeated] ?? "") else {
            return self.linkPage(account, token, accounts, remark: Endpoints.unlike, request)
        }
        let result = try await uncancelled { () throws(Failure) in
            try await accounts.choose(new, byLink: token, from: request.client)
        }
        switch result {
        case .unacceptable(let finding): return self.linkPage(account, token, accounts, remark: finding.remark, request)
        case .changed(let changed):
            let profile = changed.profile(at: accounts.provider)
            let sessions = self.runtime.sessions
            _ = try await uncancelled { () throws(Failure) in try await sessions.endAll(of: profile) }
            self.runtime.services.log.credentialsChanged(profile.user, "password chosen by link")
            let address = "\(self.runtime.address(.start))/\(accounts.provider)"
            let (pages, language) = (self.runtime.rendering.pages, self.language(of: request))
            let (text, back) = await self.afterNewPassword(.chosenText, of: profile.user, signIn: address)
            let html =
                text == .chosenText
                ? pages.passwordChosen(signIn: address, in: language)
                : pages.credentialsChanged(text, back: back, in: language)
            return Rendering.page(200, html)
        case .lost, .wrongPassword, .wrongCode, .tooMany:
            throw Failure(.accountLink, "the link was used meanwhile")
        }
    }

    /// The text of the page after a new password, and where it leads: what else lets the user in is named, since a thief of the
    /// old one may have added it.
    private func afterNewPassword(
        _ text: PageText,
        of user: String,
        signIn address: String
    ) async -> (text: PageText, back: String) {
        let passkeys = try? await self.runtime.users.passkeys?.passkeys(of: user)
        let connected = try? await self.runtime.users.connections?.accounts(of: user)
        guard passkeys?.all.isEmpty == false || connected != nil else { return (text, address) }
        let query = Form([Form.Field("rd", self.runtime.path(.account))]).encoded
        return (.credentialsPasskeys, "\(address)?\(query)")
    }

    private func linkPage(
        _ account: Account,
        _ token: String,
        _ accounts: LocalAccounts,
        remark: PageRemark? = nil,
        _ request: EndpointRequest
    ) -> Response {
        let form = AccountForm(
            action: "\(self.runtime.address(.accountLink))/\(accounts.provider)",
            hidden: [(Endpoints.tokenField, token)],
            remark: remark
        )
        let name = account.email ?? account.username ?? account.id
        let page = self.runtime.rendering.pages.choosePassword(form, account: name, in: self.language(of: request))
        return Rendering.page(remark == nil ? 200 : 400, page)
    }

    private static let unlike = PageRemark(.chooseDiffer)

    // MARK: Password and second factor

    /// The page on which a signed-in user of a local account changes the password and the second factor.
    func credentials(_ request: EndpointRequest) async throws(Failure) -> Response {
        guard self.isOnGatewayHost(request) else {
            return Rendering.redirect(to: self.runtime.address(.credentials))
        }
        let session: Session
        switch try await self.confirmedSession(of: request, mayAskUser: true) {
        case .none, .needsUser:
            let path = ReturnPath(self.runtime.path(.credentials)) ?? .root
            return Rendering.redirect(to: SignInRedirect(runtime: self.runtime).signInAddress(path, route: nil))
        case .session(let live): session = live
        }
        guard let accounts = self.runtime.providers[session.provider]?.accounts else {
            throw Failure(.endpointNone, "\(session.profile.user) has no local account")
        }
        guard let account = try await accounts.store.account(session.profile.subject), !account.isDisabled else {
            throw Failure(.sessionNone, "the account of \(session.profile.user) was removed")
        }
        guard request.method == .post else { return self.credentialsPage(account, accounts, session, request) }
        guard request.comesFromOurPages, let text = request.form?[Consent.field],
            let consent = Consent(.credentials, sealed: text, by: self.runtime.sealer, now: request.now),
            consent.isOf(session),
            consent.form == Endpoints.credentialsForm
        else { throw Failure(.requestCrossSite, "a change of credentials that is not from our page") }
        return try await self.steps.limited(request) { () throws(Failure) in
            try await self.change(account, accounts, session, request)
        }
    }

    /// What the sealed field of the page is for.
    private static let credentialsForm = Form([Form.Field("credentials", "change")])

    private func change(
        _ account: Account,
        _ accounts: LocalAccounts,
        _ session: Session,
        _ request: EndpointRequest
    ) async throws(Failure) -> Response {
        let form = request.form ?? Form()
        let (id, origin) = (account.id, self.origin(of: request, accounts))
        let current = form[AccountForm.Field.password] ?? ""
        let code = form[AccountForm.Field.code] ?? ""
        let back = self.runtime.address(.credentials)
        let start = "\(self.runtime.address(.start))/\(accounts.provider)"
        let user = session.profile.user
        let (pages, language) = (self.runtime.rendering.pages, self.language(of: request))
        let result: LocalAccounts.ChangeResult
        switch form[AccountForm.Field.action].flatMap({ AccountForm.Action(rawValue: $0) }) {
        case .password?:
            let new = form[AccountForm.Field.newPassword] ?? ""
            guard isIdentical(new, form[AccountForm.Field.repeated] ?? "") else {
                return self.credentialsPage(account, accounts, session, remark: Endpoints.unlike, status: 400, request)
            }
            result = try await uncancelled { () throws(Failure) in
                try await accounts.change(id, from: current, to: new, origin: origin)
            }
            guard case .changed = result else { break }
            // This session too: what clients have got in it, or a copy of its cookie, would go on otherwise.
            let (sessions, profile) = (self.runtime.sessions, session.profile)
            _ = try await uncancelled { () throws(Failure) in try await sessions.endAll(of: profile) }
            self.runtime.services.log.credentialsChanged(user, "password changed")
            let (text, back) = await self.afterNewPassword(.credentialsChanged, of: user, signIn: start)
            return Rendering.page(200, pages.credentialsChanged(text, back: back, in: language))
        case .enrol?:
            guard let secret = EnrolmentSecret(form[Endpoints.enrolmentField] ?? "", for: account, of: accounts) else {
                let remark = PageRemark(.factorLate)
                return self.credentialsPage(account, accounts, session, remark: remark, status: 400, request)
            }
            let added = try await uncancelled { () throws(Failure) in
                try await accounts.addCodes(id, secret, password: current, code: code, origin: origin)
            }
            result = added.result
            guard case .changed = result else { break }
            self.runtime.services.log.credentialsChanged(user, "second factor added")
            return Rendering.page(200, pages.recoveryCodes(added.recovery, back: back, in: language))
        case .remove?:
            result = try await uncancelled { () throws(Failure) in
                try await accounts.removeCodes(id, password: current, code: code, origin: origin)
            }
            guard case .changed = result else { break }
            self.runtime.services.log.credentialsChanged(user, "second factor removed")
            return Rendering.page(200, pages.credentialsChanged(.factorRemoved, back: back, in: language))
        case nil: throw Failure(.endpointNone, "the form does not name what to do")
        }
        return self.page(again: account, accounts, session, result, request)
    }

    /// The page after a change that was not carried out.
    private func page(
        again account: Account,
        _ accounts: LocalAccounts,
        _ session: Session,
        _ result: LocalAccounts.ChangeResult,
        _ request: EndpointRequest
    ) -> Response {
        var failure: Failure?
        let remark: PageRemark
        switch result {
        case .unacceptable(let finding): remark = finding.remark
        case .wrongPassword:
            remark = PageRemark(.credentialsWrong)
            failure = Failure(.accountCredentials, "\(session.profile.user) typed another current password")
        case .wrongCode: remark = PageRemark(.factorWrong)
        case .tooMany(let wait):
            remark = PageRemark(.accountFormWait, ["seconds": "\(max(1, wait.wholeSeconds + 1))"])
            failure = Failure(.accountTooMany, "too many attempts for one account", retryAfter: wait)
        case .lost, .changed: remark = PageRemark(.credentialsConflict)
        }
        let status = failure?.reason.entry.status ?? 400
        var page = self.credentialsPage(account, accounts, session, remark: remark, status: status, request)
        guard let failure else { return page }
        if let wait = failure.retryAfter {
            page.head.headerFields[.retryAfter] = "\(max(1, wait.wholeSeconds + 1))"
        }
        var context = PageContext()
        (context.provider, context.userKey) = (accounts.provider, session.profile.user)
        let incident = self.runtime.rendering.logged(failure, at: context, of: request.clientKind)
        page.rejection = Response.Rejection(failure.reason, incident: incident)
        return page
    }

    private func credentialsPage(
        _ account: Account,
        _ accounts: LocalAccounts,
        _ session: Session,
        remark: PageRemark? = nil,
        status: Int = 200,
        _ request: EndpointRequest
    ) -> Response {
        let consent = Consent(.credentials, to: Endpoints.credentialsForm, of: session, now: request.now)
        let form = AccountForm(
            action: self.runtime.address(.credentials),
            hidden: [(Consent.field, consent.sealed(by: self.runtime.sealer))],
            remark: remark
        )
        let html = self.runtime.rendering.pages.credentials(
            form,
            user: self.runtime.user(of: session),
            factor: self.factor(account, accounts),
            in: self.language(of: request)
        )
        return Rendering.page(status, html)
    }

    private func factor(_ account: Account, _ accounts: LocalAccounts) -> SecondFactorView {
        guard !account.hasSecondFactor else { return .on(recoveryCodes: account.recoveryCodesLeft) }
        let enrolment = EnrolmentSecret(from: accounts)
        let link = TimeCode.link(
            enrolment.secret,
            issuer: self.runtime.hosts.publicOrigin.host,
            account: account.email ?? account.username ?? account.id
        )
        return .off(
            secret: TimeCode.text(of: enrolment.secret),
            link: link,
            enrolment: enrolment.sealed(for: account, of: accounts)
        )
    }
}

extension PasswordRules.Finding {
    /// What the user can do about it.
    var remark: PageRemark {
        switch self {
        case .short: PageRemark(.passwordShort, ["count": "\(Password.minLength)"])
        case .long: PageRemark(.passwordLong, ["count": "\(Password.maxBytes)"])
        case .repetitive: PageRemark(.passwordRepetitive, ["count": "\(PasswordRules.minDifferent)"])
        case .personal: PageRemark(.passwordPersonal)
        case .common: PageRemark(.passwordCommon)
        case .breached: PageRemark(.passwordBreached)
        }
    }
}
