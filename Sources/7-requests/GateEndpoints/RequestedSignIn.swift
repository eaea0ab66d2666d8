// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateIssuer
internal import GateOpenID
internal import GateSessions

/// A sign-in to which a client's request has led: `prompt`, `max_age`, or a rule asks for one although there may be a session.
///
/// It travels through the sign-in as a parameter of the request, sealed, so that no browser makes one up. The session that the
/// sign-in begins has its id, so that neither an earlier session nor that of another browser passes for it.
struct RequestedSignIn {
    /// The name of the parameter.
    static let field = "gatehouse_sign_in"
    /// How long a user may take to sign in and to consent.
    private static let lifetime = Duration.seconds(900)
    /// How much later the clock of a provider may be than ours.
    static let clockLeeway = Duration.seconds(60)
    private static let purpose = "client/sign-in"

    /// The id, from which the session of the sign-in has its mark.
    let id: String
    /// How long ago the provider may have authenticated the user.
    let maxAge: Duration
    /// Whether the provider is asked to authenticate the user again.
    let reauthenticates: Bool
    private let began: Instant
    private let request: [UInt8]

    /// The sign-in that a request asks for; nil if any does.
    ///
    /// - Parameters:
    ///   - form: The parameters of the request.
    ///   - asked: The same, checked.
    ///   - byRule: Whether a rule asks for it, whatever the request has.
    ///   - random: The source of the id.
    ///   - now: The time.
    init?(for form: Form, _ asked: AuthorizationRequest, byRule: Bool, random: RandomBytes, now: Instant) {
        guard byRule || asked.prompt.login || asked.prompt.selectAccount || asked.maxAge != nil else { return nil }
        self.id = random.token(16)
        self.reauthenticates = asked.prompt.login
        self.maxAge = byRule || asked.prompt.login ? .zero : asked.maxAge ?? .zero
        self.began = now
        self.request = RequestedSignIn.digest(of: form)
    }

    /// Opens the parameter of a request; nil without one, and for one that is not of this request, or too old.
    init?(in form: Form, by sealer: Sealer, now: Instant) {
        guard case .value(let text) = form.single(RequestedSignIn.field), let bytes = Base64URL.decode(text),
            let plain = sealer.open(bytes, for: RequestedSignIn.purpose),
            let json = try? JSON(parsing: plain, depth: 1),
            let id = json["id"]?.string, let request = json["request"]?.string.flatMap({ Base64URL.decode($0) }),
            let maxAge = json["max_age"]?.integer, let began = json["began"]?.integer,
            let reauthenticates = json["login"]?.bool
        else { return nil }
        (self.id, self.request, self.reauthenticates) = (id, request, reauthenticates)
        (self.maxAge, self.began) = (.seconds(maxAge), Instant(seconds: began))
        guard self.request == RequestedSignIn.digest(of: form), now.since(self.began) <= RequestedSignIn.lifetime else {
            return nil
        }
    }

    /// The value of the parameter.
    func sealed(by sealer: Sealer) -> String {
        let members: JSON = [
            "id": .string(self.id), "request": .string(Base64URL.encode(self.request)),
            "max_age": .int(self.maxAge.wholeSeconds), "began": .int(self.began.seconds),
            "login": .bool(self.reauthenticates),
        ]
        return Base64URL.encode(sealer.seal(members.encoded, for: RequestedSignIn.purpose))
    }

    private static func digest(of form: Form) -> [UInt8] {
        ContentDigest.sha256(of: AuthorizationSteps.original(form).encoded.utf8)
    }

    /// Its use for a code, after which a reload of the same URL is a request of its own.
    var once: SingleUse {
        SingleUse("client-sign-in", self.id, until: self.began.advanced(by: RequestedSignIn.lifetime))
    }

    /// Whether this sign-in has begun a session.
    func hasBegun(_ session: Session) -> Bool {
        session.askedBy.map { isIdentical($0, self.id) } ?? false || self.isEnforced(in: session)
    }

    /// Whether the provider had to authenticate the user again, by a request that the browser could not change.
    private func isEnforced(in session: Session) -> Bool {
        session.askedBy.map { isIdentical($0, AuthenticationDemand.enforced(self.id)) } ?? false
    }

    /// Whether the session that it has begun proves what a request asks for.
    ///
    /// OpenID Connect Core §3.1.2.1: `max_age` needs a time that the provider reports. So does `prompt=login`, unless the provider had to
    /// authenticate the user again: a parameter in a URL can be taken out by the user who is to do so.
    func satisfies(_ asked: AuthorizationRequest, by session: Session) -> Bool {
        guard asked.prompt.login || asked.maxAge != nil else { return true }
        guard let time = session.profile.authTime else { return asked.maxAge == nil && self.isEnforced(in: session) }
        return self.began.since(time) <= self.maxAge + RequestedSignIn.clockLeeway
    }
}
