// SPDX-License-Identifier: Apache-2.0

internal import GateAccounts
internal import GateCore
internal import GateOperations
internal import GatePages
internal import GatePasskeys
internal import GateRuntime
internal import GateSessions

/// The use of a passkey by a signed-in user on a page of the gateway.
struct PasskeyUse {
    private let runtime: RuntimeConfiguration
    private let passkeys: Passkeys
    private let session: Session
    private let known: OwnedPasskeys

    /// The use in a session; nil if the user has no passkey.
    init?(_ known: OwnedPasskeys?, of session: Session, runtime: RuntimeConfiguration) {
        guard let known, !known.all.isEmpty, let passkeys = runtime.users.passkeys else { return nil }
        (self.runtime, self.passkeys, self.session, self.known) = (runtime, passkeys, session, known)
    }

    /// The form that asks for it.
    ///
    /// - Parameters:
    ///   - purpose: What the passkey is used for.
    ///   - page: The page that takes the response.
    ///   - path: Where the browser goes afterwards; nil for the page itself.
    ///   - remark: What was wrong with the last response; nil at first.
    ///   - now: The time.
    /// - Returns: The form.
    func form(
        _ purpose: PasskeyCeremony.Purpose,
        on page: SignedInPage,
        leadingTo path: ReturnPath?,
        remark: PageText?,
        now: Instant
    ) -> PasskeyForm {
        let ceremony = PasskeyCeremony(
            purpose,
            handle: self.known.own?.handle ?? [],
            returnPath: path,
            of: self.session,
            now: now,
            random: self.runtime.services.random
        )
        let form = AccountForm(
            action: page.address(leadingTo: nil),
            hidden: [(PasskeyCeremony.field, ceremony.sealed(by: self.runtime.sealer))],
            remark: remark.map { PageRemark($0) }
        )
        return PasskeyForm(form, .get, options: self.assertion(for: ceremony).options)
    }

    private func assertion(for ceremony: PasskeyCeremony) -> PasskeyAssertion {
        var assertion = PasskeyAssertion(self.passkeys.relyingParty, challenge: ceremony.challenge)
        assertion.allowed = self.known.all.map(\.passkey)
        return assertion
    }

    /// Verifies the response of the browser and records the use in its session.
    ///
    /// - Parameters:
    ///   - request: The request, whose session it is.
    ///   - ceremony: What was asked for.
    /// - Throws: `passkey.rejected`, `passkey.cloned` or `passkey.late`, or if the store is unavailable.
    func verify(_ request: EndpointRequest, _ ceremony: PasskeyCeremony) async throws(Failure) {
        guard ceremony.isCurrent(in: self.session, now: request.now) else { throw PasskeyUse.late }
        let response = try request.passkeyAssertion()
        guard try await self.runtime.sessions.spend(ceremony.once) else { throw PasskeyUse.late }
        let owner = self.known.owner(ofCredential: response.credentialID) ?? self.session.profile.user
        let (passkeys, user, assertion) = (self.passkeys, owner, self.assertion(for: ceremony))
        let used = try await uncancelled { () throws(Failure) in
            try await passkeys.use(response, for: assertion, user: user)
        }
        try await PasskeyUse.note(used.passkey, in: request, self.session, self.runtime)
    }

    /// Records the use of a passkey in the session of the browser.
    static func note(
        _ passkey: Passkey,
        in request: EndpointRequest,
        _ session: Session,
        _ runtime: RuntimeConfiguration
    ) async throws(Failure) {
        let (sessions, ticket, now) = (runtime.sessions, request.ticket, request.now)
        let isNoted = try await uncancelled { () throws(Failure) in
            guard let ticket else { return false }
            return try await sessions.notePasskey(passkey.method, in: ticket, at: now)
        }
        guard isNoted else { throw Failure(.sessionNone, "the session of \(session.profile.user) has ended meanwhile") }
        runtime.services.log.passkeyUsed(session.profile.user, passkey: passkey.name, session: session.id)
    }

    /// The failure of a form that is too old, was sent before, or is of an earlier sign-in.
    static var late: Failure { Failure(.passkeyLate, "the form is too old, was sent before, or is of another sign-in") }
}
