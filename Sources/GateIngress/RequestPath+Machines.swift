// SPDX-License-Identifier: Apache-2.0

internal import GateAssertion
internal import GateCore
internal import GateHTTP
internal import GateHeaders
internal import GateIssuer
internal import GateOpenID
internal import GatePolicy
internal import GateProviders
internal import GateRuntime
internal import GateSessions
internal import GateWire
internal import NIOCore

/// What the token of a request leads to.
enum FoundMachine {
    /// The request has no token of ours: its session counts.
    case none
    /// The token is valid, and counts like a session.
    case valid(CachedSession, MachineCredential, ends: Instant?)
    /// It is not.
    case rejected(Failure)
    /// An issuer has to verify it first.
    case unverified(MachineCredential, TokenIssuer)
}

// Tokens that machines bring instead of a session.
extension RequestPath {
    /// What the token of a request leads to on a route.
    func machine(of request: RequestHead, on route: RuntimeRoute) -> FoundMachine {
        guard route.takesMachines else { return .none }
        let hasSession = self.runtime.cookieKey(of: request) != nil
        switch MachineCredential.field(of: request, takesBasic: route.takesBasic) {
        case .none: return .none
        case .malformed(let why):
            return hasSession ? .none : .rejected(Failure(.tokenRejected, why))
        case .token(let credential):
            return self.known(credential, on: route, hasSession: hasSession)
                ?? self.found(credential, on: route, hasSession: hasSession)
        }
    }

    /// What became of a token that an issuer has verified before.
    ///
    /// Beside a session cookie only what the issuer is found for counts, as without the cache.
    private func known(_ credential: MachineCredential, on route: RuntimeRoute, hasSession: Bool) -> FoundMachine? {
        for issuer in self.runtime.issuers(of: route, for: credential, hasSession: hasSession) {
            switch self.loop.machines.entry(credential, at: issuer, now: self.loop.tick) {
            case .valid(let session, let ends)?: return .valid(session, credential, ends: ends)
            case .rejected(let failure)?: return .rejected(failure)
            case nil: continue
            }
        }
        return nil
    }

    private func found(_ credential: MachineCredential, on route: RuntimeRoute, hasSession: Bool) -> FoundMachine {
        switch self.runtime.verifier(of: credential, on: route, hasSession: hasSession) {
        case .none(let why):
            return hasSession ? .none : .rejected(Failure(.tokenRejected, why))
        case .issuer(let issuer):
            return .unverified(credential, issuer)
        case .serviceToken(let token):
            switch self.runtime.profile(of: token, on: route, now: self.loop.now) {
            case .failure(let failure): return .rejected(failure)
            case .success(let profile):
                let session = self.loop.session(of: profile, credential, ends: token?.expires)
                return .valid(session, credential, ends: token?.expires)
            }
        }
    }

    /// The verdict on a request by its token; nil if it has none of ours, so that its session decides.
    func machineVerdict(
        for request: RequestHead,
        on route: RuntimeRoute,
        lookup: SessionLookup?,
        isRetry: Bool,
        _ client: () -> IPAddress?
    ) -> Verdict? {
        switch self.machine(of: request, on: route) {
        case .none: return nil
        case .rejected(let failure): return .refused(failure)
        case .unverified(let credential, let issuer):
            // The cache has let go of it since it was verified for this request.
            guard lookup == nil else { return .refused(Failure(.gatewayTooManyWaiting, "too many tokens at once")) }
            return .needsVerification(credential, issuer, route)
        case .valid(let session, let credential, _):
            if self.loop.access != nil { self.loop.found = session }
            if isRetry { session.dropAuthorization(on: route) }
            let verdict = self.verdict(
                for: request,
                on: route,
                session: session,
                isAmbient: credential.isAmbient,
                scopes: [],
                client
            )
            let help: String
            switch verdict {
            case .signInNeeded: help = "a rule needs a later authentication or a passkey, which no token proves"
            case .scopesNeeded: help = RequestPath.scopeHelp
            default: return verdict
            }
            return .refused(Failure(.policyRefused, "\(session.session.profile.user) is not admitted: \(help)"))
        }
    }

    /// When the token of a request that was admitted ends; nil if it has none, or if that is not known.
    func tokenEnd(of request: RequestHead, on route: RuntimeRoute) -> Instant? {
        if route.takesTokens, let end = self.accessTokenEnd(of: request, on: route) { return end }
        guard case .valid(_, _, let ends) = self.machine(of: request, on: route) else { return nil }
        return ends
    }

    /// The request as its app may get it: a preflight without credentials and what would make it another request.
    func forApp(_ request: RequestHead, on route: RuntimeRoute) -> RequestHead {
        guard self.isAdmittedPreflight(request, on: route) else { return request }
        return request.removing { self.isNotOfPreflight($0, request) }
    }

    /// Why a machine is denied where a client would have to ask its user.
    static let scopeHelp =
        "a rule asks for a scope, and no user grants one to a machine; admit it by an entry of its own"

    /// Whether `Authorization` of a request is meant for the gateway: the app must not get what opens other apps.
    ///
    /// A credential of the gateway is hidden on every route and in every spelling, since clients send a password to all paths of a
    /// host and apps read more spellings than the gateway accepts.
    func hidesAuthorization(of request: RequestHead, on route: RuntimeRoute) -> Bool {
        let mayBeOurs = self.runtime.issuer != nil || route.takesMachines || self.runtime.hasServiceTokens
        guard mayBeOurs, let field = request.message.first(.authorization) else { return false }
        if self.runtime.issuer != nil, self.hasOwnToken(request) { return true }
        if !route.route.exchangedIssuers.isEmpty, self.hasTokenOfIssuer(request, route.route.exchangedIssuers) {
            return true
        }
        if route.takesMachines {
            switch self.machine(of: request, on: route) {
            case .none: break
            case .valid, .rejected, .unverified: return true
            }
        }
        return OwnCredential.isIn(request.message.slice(field.valueRange), issuer: self.runtime.issuer?.signer.issuer)
    }

    /// Whether a request has a JWT that names one of some issuers, whose tokens are for exchange.
    private func hasTokenOfIssuer(_ request: RequestHead, _ names: Set<String>) -> Bool {
        guard case .token(let credential) = MachineCredential.field(of: request, takesBasic: false) else {
            return false
        }
        return self.runtime.hasIssuer(of: credential, among: names)
    }

    private func isNotOfPreflight(_ field: FieldLine, _ request: RequestHead) -> Bool {
        guard field.name != .cookie, field.name != .authorization else { return true }
        return request.message.text(field.nameRange).lowercased().hasPrefix("x-http-method")
            || request.message.spells(field.nameRange, "x-method-override")
    }

    /// Whether a request is the preflight of a call from a page that the app lets write.
    ///
    /// Browsers send it without cookies and tokens; the app decides. Fetch standard §4.8.
    func isAdmittedPreflight(_ request: RequestHead, on route: RuntimeRoute) -> Bool {
        guard route.takesWrites, request.method == .options, request.framing == .none,
            let origin = request.message.value(.origin), request.message.count(.origin) == 1,
            request.message.fields.contains(where: {
                request.message.spells($0.nameRange, "access-control-request-method")
            })
        else { return false }
        let isDenied = request.path.withSpan(of: request.message) { path in
            route.route.deniesEveryUser(
                method: request.method.rawValue,
                path,
                at: self.loop.now,
                guardsSpellings: route.guardsSpellings
            )
        }
        return !isDenied && self.admitsPage(of: origin, for: request, on: route)
    }

    /// Whether pages of an origin may write to what a request is for, in every reading of its path.
    func admitsPage(of origin: String, for request: RequestHead, on route: RuntimeRoute) -> Bool {
        SpellingCheck(runtime: self.runtime, route: route).holdsInEveryReading(of: request) { path, isDecoded in
            route.admitsWrite(from: origin, to: path, isDecoded: isDecoded)
        }
    }
}

extension MachineVerifier {
    /// Verifies a token, for a task.
    static func result(
        of credential: MachineCredential,
        at issuer: TokenIssuer
    ) async -> Result<TokenIssuer.Verified, Failure> {
        do throws(Failure) {
            return .success(try await issuer.verify(credential.text))
        } catch {
            return .failure(error)
        }
    }
}
