// SPDX-License-Identifier: Apache-2.0

internal import GateAssertion
internal import GateCore
internal import GateIssuer
internal import GateOpenID
internal import GatePolicy
internal import GateProviders
internal import GateRuntime
internal import GateSessions
internal import GateWire

/// Reads a token that a machine brings instead of a session: of another issuer, or of `service_tokens`.
enum MachineTokenReader: CredentialReader {
    static func read(_ request: IngressRequest, on route: RuntimeRoute, _ known: some KnownCallers) -> Credential {
        let runtime = request.runtime
        switch MachineCredential.field(of: request.head, takesBasic: route.takesBasic) {
        case .none: return .absent
        case .malformed(let why):
            return runtime.cookieKey(of: request.head) != nil ? .absent : .rejected(Failure(.tokenRejected, why))
        case .token(let credential):
            let hasSession = runtime.cookieKey(of: request.head) != nil
            return self.verified(credential, of: request, on: route, hasSession: hasSession, known)
                ?? self.found(credential, of: request, on: route, hasSession: hasSession, known)
        }
    }

    /// What became of a token that an issuer has verified before.
    ///
    /// Beside a session cookie only what the issuer is found for counts, as without the cache.
    private static func verified(
        _ credential: MachineCredential,
        of request: IngressRequest,
        on route: RuntimeRoute,
        hasSession: Bool,
        _ known: some KnownCallers
    ) -> Credential? {
        for issuer in request.runtime.machines.issuers(of: route, for: credential, hasSession: hasSession) {
            switch known.machine(credential, at: issuer, at: request.tick) {
            case .valid(let session, let ends)?:
                return .caller(.machine(session, isAmbient: credential.isAmbient, ends: ends))
            case .rejected(let failure)?: return .rejected(failure)
            case nil: continue
            }
        }
        return nil
    }

    private static func found(
        _ credential: MachineCredential,
        of request: IngressRequest,
        on route: RuntimeRoute,
        hasSession: Bool,
        _ known: some KnownCallers
    ) -> Credential {
        switch request.runtime.machines.verifier(of: credential, on: route, hasSession: hasSession) {
        case .none(let why):
            return hasSession ? .absent : .rejected(Failure(.tokenRejected, why))
        case .issuer(let issuer):
            // The cache has let go of it since it was verified for this request.
            guard request.lookedUp == nil else {
                return .rejected(Failure(.gatewayTooManyWaiting, "too many tokens at once"))
            }
            return .need(.verification(credential, issuer))
        case .serviceToken(let token):
            switch request.runtime.machines.profile(of: token, on: route, now: request.now) {
            case .failure(let failure): return .rejected(failure)
            case .success(let profile):
                let session = known.session(of: profile, credential, ends: token?.expires)
                return .caller(.machine(session, isAmbient: credential.isAmbient, ends: token?.expires))
            }
        }
    }
}

/// What a machine is denied with where a user would be asked.
enum MachineCaller {
    /// Why a machine is denied where a client would have to ask its user.
    static let scopeHelp =
        "a rule asks for a scope, and no user grants one to a machine; admit it by an entry of its own"

    /// The step of a request with the token of a machine.
    static func step(_ step: Step, of session: CachedSession) -> Step {
        let help: String
        switch step {
        case .signIn: help = "a rule needs a later authentication or a passkey, which no token proves"
        case .reject(_, let scopes) where !scopes.isEmpty: help = self.scopeHelp
        default: return step
        }
        return .reject(Failure(.policyRefused, "\(session.session.profile.user) is not admitted: \(help)"))
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
