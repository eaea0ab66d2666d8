// SPDX-License-Identifier: Apache-2.0

internal import GateAssertion
internal import GateCore
internal import GateIssuer
internal import GatePolicy
internal import GateRuntime
internal import GateSessions
internal import GateWire
internal import NIOCore

/// Reads an access token of this gateway, which a client brings instead of a session.
enum AccessTokenReader: CredentialReader {
    static func read(_ request: IngressRequest, on route: RuntimeRoute, _ known: some KnownCallers) -> Credential {
        let (token, text): (VerifiedToken, ByteBuffer)
        switch self.token(of: request, on: route, known) {
        case .none: return .absent
        case .rejected(let failure): return .rejected(failure)
        case .verified(let found, let bytes): (token, text) = (found, bytes)
        }
        if let key = token.token.keyThumbprint {
            switch request.proof {
            case .due: return .need(.proof(TokenProof(of: key, for: token.token, text: text)))
            case .rejected(let failure): return .rejected(failure)
            case .settled: break
            }
        }
        let found = known.session(token.key, on: token.host, at: request.tick)
        if let found, found.isCurrent(on: route, runtime: request.runtime, now: request.now) {
            return .caller(.token(found, token))
        }
        switch request.lookedUp {
        case nil: return .need(.session(SoughtSession(token.token.ticket, host: token.host)))
        case .unavailable(let failure): return .rejected(failure)
        case .needsUser:
            return .rejected(Failure(.tokenRejected, "the user has to sign in again for the client"))
        case .done:
            guard let found else { return .rejected(Failure(.tokenRejected, "the session of the token has ended")) }
            guard route.isCurrent(found.session, now: request.now) else {
                let reason =
                    "the sign-in is older, or was unused for longer, than 'lifetime' or 'idle_timeout' of \(route.name)"
                return .rejected(Failure(.tokenRejected, "\(reason): the user has to sign in again"))
            }
            return .caller(.token(found, token))
        }
    }

    /// The session of the access token of a request, if both are known.
    static func session(
        of request: IngressRequest,
        on route: RuntimeRoute,
        _ known: some KnownCallers
    ) -> CachedSession? {
        guard case .verified(let token, _) = self.token(of: request, on: route, known),
            let found = known.session(token.key, on: token.host, at: request.tick),
            route.isCurrent(found.session, now: request.now)
        else { return nil }
        return found
    }

    /// Whether a request has an access token of this gateway, which no app must get: it may be for another one.
    static func isIn(_ request: IngressRequest, _ known: some KnownCallers) -> Bool {
        guard let issuer = request.runtime.clients.issuer, let (text, _) = self.bearer(of: request.head) else {
            return false
        }
        return known.isLastAccessToken(text) || issuer.signer.begins(text.readableBytesUInt8Span)
    }

    /// What is in `Authorization`.
    private enum Found {
        case none
        case rejected(Failure)
        case verified(VerifiedToken, ByteBuffer)
    }

    private static func token(
        of request: IngressRequest,
        on route: RuntimeRoute,
        _ known: some KnownCallers
    ) -> Found {
        let runtime = request.runtime
        guard route.takesTokens, runtime.clients.issuer != nil, let (text, isBound) = self.bearer(of: request.head)
        else {
            return .none
        }
        guard let token = known.accessToken(text, under: runtime, at: request.now) else {
            guard let issuer = runtime.clients.issuer else { return .none }
            let isOurs = issuer.signer.begins(text.readableBytesUInt8Span)
            guard isOurs || !route.takesMachines && runtime.cookieKey(of: request.head) == nil else { return .none }
            let reason =
                "it is expired, of a client that 'clients' does not have, or not an access token of this gateway"
            return .rejected(Failure(.tokenRejected, reason))
        }
        guard token.isFor(route) else {
            let help = "ask for one with 'resource=\(route.route.audience)'"
            return .rejected(Failure(.tokenRejected, "the token is not for \(route.name): \(help)"))
        }
        guard isBound == (token.token.keyThumbprint != nil) else {
            let help = isBound ? "bound to no key: send it as Bearer" : "bound to a key: send it as DPoP, with a proof"
            return .rejected(Failure(.tokenRejected, "the token is \(help)"))
        }
        return .verified(token, text)
    }

    /// The token of `Authorization: Bearer` or `DPoP`, and whether it is the latter.
    ///
    /// RFC 6750 §2.1, RFC 9449 §7.1: one space or more after the scheme. A request with two such fields is rejected before.
    private static func bearer(of request: RequestHead) -> (ByteBuffer, isBound: Bool)? {
        guard let field = request.message.first(.authorization) else { return nil }
        if let text = self.credentials(of: "bearer ", in: field.valueRange, request) { return (text, false) }
        return self.credentials(of: "dpop ", in: field.valueRange, request).map { ($0, true) }
    }

    /// What follows a scheme, which is in lower case with a space after it; nil if the value has another scheme.
    private static func credentials(of scheme: String, in range: Range<Int>, _ request: RequestHead) -> ByteBuffer? {
        var start = range.lowerBound + scheme.utf8.count
        guard start < range.upperBound, request.message.spells(range.lowerBound..<start, scheme) else { return nil }
        let bytes = request.message.bytes
        while start < range.upperBound, bytes.getInteger(at: bytes.readerIndex + start, as: UInt8.self) == 0x20 {
            start += 1
        }
        return bytes.getSlice(at: bytes.readerIndex + start, length: range.upperBound - start)
    }
}
