// SPDX-License-Identifier: Apache-2.0

internal import GateAccounts
internal import GateCore
internal import GateHTTP
internal import GateHeaders
internal import GateOperations
internal import GatePages
internal import GateProviders
internal import GateRuntime
internal import GateWire
internal import HTTPTypes

/// What users of local accounts do by links that are sent to their email address: choose another password, and register.
///
/// The response is the same, and as fast, whether or not there is an account: what differs is done after it.
struct AccountMailEndpoint {
    /// What the link is for.
    enum Purpose {
        case recovery
        case registration

        var path: EndpointPath { self == .recovery ? .recover : .join }
    }

    private let runtime: RuntimeConfiguration
    private let mailer: AccountMailer
    private let accounts: LocalAccounts
    private let purpose: Purpose

    /// The endpoint for a provider.
    ///
    /// - Throws: If the provider has no local accounts, the file no mail server, or users cannot register.
    init(_ purpose: Purpose, provider id: String, _ runtime: RuntimeConfiguration) throws(Failure) {
        guard let accounts = runtime.providers[id]?.accounts, let mailer = runtime.users.mailer,
            purpose == .recovery || accounts.registration != nil
        else { throw Failure(.endpointNone, "the provider sends no links, or the file has no 'mail'") }
        (self.runtime, self.mailer, self.accounts, self.purpose) = (runtime, mailer, accounts, purpose)
    }

    private func address(_ path: EndpointPath) -> String {
        "\(self.runtime.address(path))/\(self.accounts.provider)"
    }

    private func language(_ request: EndpointRequest) -> PageLanguage {
        self.runtime.rendering.language(for: request.clientKind)
    }

    /// The form, and what it sends; a link of a registration leads here as well.
    func response(to request: EndpointRequest) async throws(Failure) -> Response {
        guard request.origin.host == self.runtime.hosts.publicOrigin.host else {
            return Rendering.redirect(to: self.address(self.purpose.path))
        }
        let isPost = request.method == .post
        guard !isPost || request.comesFromOurPages else {
            throw Failure(.requestCrossSite, "another site posted to \(self.purpose.path.rawValue)")
        }
        if self.purpose == .registration, let token = (isPost ? request.form : request.query)?[Self.token] {
            return try await self.register(by: token, request)
        }
        guard isPost else { return self.form("", request) }
        let typed = request.form?[AccountForm.Field.email] ?? ""
        guard let address = EmailAddress(typed), self.admits(address) else {
            return self.form(typed, remark: PageRemark(.mailBad), status: 400, request)
        }
        let language = self.language(request)
        do throws(Failure) {
            try self.sendLink(to: address, name: nil, in: language, for: request.client)
        } catch {
            return self.form(typed, after: error, request)
        }
        let back = self.address(.start)
        return Rendering.page(200, self.runtime.rendering.pages.linkSent(back: back, in: language))
    }

    /// Whether users with an email address may register; every user may ask for the recovery of an account.
    func admits(_ address: EmailAddress) -> Bool {
        self.purpose == .recovery || self.accounts.admitsRegistration(of: address)
    }

    /// Sends a link to an email address that ``admits(_:)`` admits, after the response.
    ///
    /// - Parameters:
    ///   - address: The email address.
    ///   - name: The full name that an app proposes; the page of the link asks for it, so the owner of the address decides.
    ///   - language: The language.
    ///   - client: The IP of the client.
    /// - Throws: `account.too_many` if the client asks too often.
    func sendLink(
        to address: EmailAddress,
        name: String?,
        in language: PageLanguage,
        for client: IPAddress?
    ) throws(Failure) {
        try self.mailer.limits.admit(client)
        let isRunning = self.mailer.limits.afterwards { await self.send(to: address, name: name, in: language) }
        guard !isRunning else { return }
        let failure = Failure(.mailNotSent, "over 64 links are being made at once")
        self.runtime.services.log.mailNotQueued(failure, provider: self.accounts.provider)
    }

    private static let token = "token"

    private func form(
        _ typed: String,
        remark: PageRemark? = nil,
        status: Int = 200,
        _ request: EndpointRequest
    ) -> Response {
        let html = self.runtime.rendering.pages.askForLink(
            AccountForm(action: self.address(self.purpose.path), hidden: [], remark: remark),
            domains: self.purpose == .registration ? self.accounts.registration?.domains ?? [] : nil,
            address: typed.utf8.count <= 254 ? typed : "",
            back: self.address(.start),
            in: self.language(request)
        )
        return Rendering.page(status, html)
    }

    /// The form after a request too many.
    private func form(_ typed: String, after failure: Failure, _ request: EndpointRequest) -> Response {
        let seconds = failure.retryAfter.map { max(1, $0.wholeSeconds) } ?? 60
        let remark = PageRemark(.mailWait, ["minutes": "\(seconds / 60 + 1)"])
        var page = self.form(typed, remark: remark, status: failure.reason.entry.status, request)
        page.head.headerFields[.retryAfter] = "\(seconds)"
        var context = PageContext()
        context.provider = self.accounts.provider
        let incident = self.runtime.rendering.logged(failure, at: context, of: request.clientKind)
        page.rejection = Response.Rejection(failure.reason, incident: incident)
        return page
    }

    /// Makes the link and queues the message; what fails is only logged.
    private func send(to address: EmailAddress, name: String?, in language: PageLanguage) async {
        do throws(Failure) {
            switch self.purpose {
            case .recovery:
                guard let owner = try await self.accounts.recoverableAddress(address) else { return }
                try await self.send(to: owner, for: .recovery) { () throws(Failure) in
                    guard let token = try await self.accounts.recoveryLink(for: owner) else { return false }
                    try self.send(.recovery, to: owner, self.link(.accountLink, token), in: language)
                    return true
                }
            case .registration:
                try await self.send(to: address, for: .registration) { () throws(Failure) in
                    guard try await !self.accounts.hasAccount(of: address) else {
                        try self.send(.registered, to: address, self.address(.start), in: language)
                        return true
                    }
                    let token = RegistrationRequest(address, name: name, at: self.accounts).token(of: self.accounts)
                    try self.send(.registration, to: address, self.link(.join, token), in: language)
                    return true
                }
            }
        } catch {
            self.runtime.services.log.mailNotQueued(error, provider: self.accounts.provider)
        }
    }

    /// Counts a message before its link is made, of which a mailbox that is over the limit would hear nothing, and releases it
    /// unless it is queued.
    private func send(
        to address: EmailAddress,
        for purpose: AccountMailer.Limits.Purpose,
        _ queue: () async throws(Failure) -> Bool
    ) async throws(Failure) {
        let message = try self.mailer.limits.admit(to: address, for: purpose)
        do throws(Failure) {
            guard try await !queue() else { return }
        } catch {
            message.release()
            throw error
        }
        message.release()
    }

    private func link(_ path: EndpointPath, _ token: String) -> String {
        "\(self.address(path))?\(Form([Form.Field(Self.token, token)]).encoded)"
    }

    private func send(
        _ text: MailText,
        to address: EmailAddress,
        _ link: String,
        in language: PageLanguage
    ) throws(Failure) {
        try self.mailer.send(
            text,
            to: address,
            link: link,
            validFor: RequestedLink.lifetime,
            in: language
        )
    }

    // MARK: Registration

    /// The page on which a user who has opened the link types a name and a password, and these.
    private func register(by token: String, _ request: EndpointRequest) async throws(Failure) -> Response {
        guard let wanted = RegistrationRequest(token, of: self.accounts), try await self.accounts.isOpen(wanted) else {
            throw Failure(.accountLink, "the link of a registration is unknown, used or over")
        }
        guard request.method == .post else { return self.page(wanted, token, request) }
        let form = request.form ?? Form()
        let new = form[AccountForm.Field.newPassword] ?? ""
        guard isIdentical(new, form[AccountForm.Field.repeated] ?? "") else {
            return self.page(wanted, token, remark: PageRemark(.chooseDiffer), request)
        }
        let accounts = self.accounts
        let result = try await uncancelled { () throws(Failure) in
            try await accounts.register(
                wanted,
                name: form[AccountForm.Field.name] ?? "",
                password: new,
                from: request.client
            )
        }
        switch result {
        case .unacceptable(let finding): return self.page(wanted, token, remark: finding.remark, request)
        case .changed(let account):
            self.runtime.services.log.registered("\(accounts.provider):\(account.id)")
            let pages = self.runtime.rendering.pages
            return Rendering.page(200, pages.passwordChosen(signIn: self.address(.start), in: self.language(request)))
        case .lost, .wrongPassword, .wrongCode, .tooMany:
            throw Failure(.accountLink, "there is an account of the email address by now")
        }
    }

    private func page(
        _ wanted: RegistrationRequest,
        _ token: String,
        remark: PageRemark? = nil,
        _ request: EndpointRequest
    ) -> Response {
        let form = AccountForm(
            action: self.address(.join),
            hidden: [(Self.token, token)],
            remark: remark
        )
        let pages = self.runtime.rendering.pages
        let html = pages.choosePassword(
            form,
            account: wanted.address.description,
            fullName: request.form?[AccountForm.Field.name].map { String($0.prefix(100)) } ?? wanted.name ?? "",
            in: self.language(request)
        )
        return Rendering.page(remark == nil ? 200 : 400, html)
    }
}
