// SPDX-License-Identifier: Apache-2.0

internal import Foundation
package import GateClients
package import GateCore
internal import GateIssuer
package import GateOpenID
internal import GatePolicy
package import GateProviders
internal import GateSessions
package import GateWire

/// A token that a request brings instead of a session.
package struct MachineCredential: Sendable {
    /// SHA-256 of the token.
    package let hash: [UInt8]
    /// The token.
    package let text: String
    /// Whether browsers may send it by themselves, as they do with a password of Basic authentication.
    package let isAmbient: Bool

    /// What `Authorization` holds.
    package enum Field: Sendable {
        /// No token that could be ours: nothing, or what the app itself asks for.
        case none
        case token(MachineCredential)
        /// A field that two servers may read differently.
        case malformed(String)
    }

    /// Reads the token of a request.
    ///
    /// RFC 6750 §2.1, RFC 7617 §2: spaces after the scheme (a second field is rejected with the head), and for `Bearer` only the characters of a token.
    /// A password is a token only with the prefix of service tokens; others are the app's.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - takesBasic: Whether service tokens are accepted as a password.
    /// - Returns: What is there.
    package static func field(of request: RequestHead, takesBasic: Bool) -> Field {
        guard let field = request.message.first(.authorization) else { return .none }
        let value = request.message.text(field.valueRange)
        let scheme = value.prefix { $0 != " " && $0 != "\t" && $0 != "," }.lowercased()
        let rest = value.dropFirst(scheme.count)
        switch scheme {
        case "bearer":
            let token = rest.drop { $0 == " " }
            guard rest.first == " ", self.isToken(token) else {
                return .malformed("'Authorization' is not 'Bearer', a space and a token")
            }
            return .token(MachineCredential(String(token), isAmbient: false))
        case "basic" where takesBasic:
            guard let token = self.token(inBasic: rest) else { return .none }
            return .token(MachineCredential(token, isAmbient: true))
        default: return .none
        }
    }

    private init(_ text: String, isAmbient: Bool) {
        self.text = text
        self.hash = ServiceToken.hash(of: text)
        self.isAmbient = isAmbient
    }

    /// The maximum size of a token that is exchanged, in bytes: what a request head could hold.
    static let maxSize = 16_384

    /// `b64token` of RFC 6750 §2.1.
    static func isToken(_ text: Substring) -> Bool {
        let body = text.utf8.prefix { $0 != UInt8(ascii: "=") }
        let isBody = body.allSatisfy { byte in
            PercentEncoding.isUnreserved(byte) || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "/")
        }
        return !body.isEmpty && isBody && text.utf8.dropFirst(body.count).allSatisfy { $0 == UInt8(ascii: "=") }
    }

    /// The service token in the credentials of Basic authentication: the password, or the user name with any password, since
    /// some clients take one of the two only.
    private static func token(inBasic value: Substring) -> String? {
        let encoded = value.drop { $0 == " " }
        guard encoded.utf8.count <= 1024, let bytes = Data(base64Encoded: String(encoded)),
            let pair = String(validating: bytes, as: UTF8.self), let colon = pair.firstIndex(of: ":")
        else { return nil }
        let parts = [pair[pair.index(after: colon)...], pair[..<colon]]
        return parts.first { ServiceToken.isOne($0) }.map(String.init)
    }
}

/// Who has to verify a token on a route.
package enum MachineVerifier: Sendable {
    /// It is a service token: this one, or none of the file.
    case serviceToken(ServiceTokenSettings?)
    case issuer(TokenIssuer)
    /// Neither: it is the app's own business if there is a session, and nothing else otherwise.
    case none(why: String)
}

extension RuntimeConfiguration {
    /// Whether the file has service tokens.
    package var hasServiceTokens: Bool { !self.serviceTokens.isEmpty }

    /// Verifies a token of an issuer that a client exchanges.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - issuer: Its issuer, by ``issuer(of:exchangedBy:)``.
    /// - Returns: The user, and when the token expires, if the issuer reports that.
    /// - Throws: `token.rejected`, or why it could not be verified.
    package func user(
        ofToken token: String,
        by issuer: TokenIssuer
    ) async throws(Failure) -> (profile: Profile, end: Instant?) {
        do throws(Failure) {
            let verified = try await issuer.verify(token)
            // What results must not live longer than the token, so the clock of the issuer counts.
            if let end = verified.end, end <= self.clock.now {
                throw Failure(.tokenRejected, "issuers.\(issuer.id): exp is \(end.seconds), which is over")
            }
            self.metrics.verified(issuer.id, result: .success(verified))
            return (verified.profile, verified.end)
        } catch {
            self.metrics.verified(issuer.id, result: .failure(error))
            throw error
        }
    }

    /// The issuer of a text that a client exchanges; nil if it is not a token of one of the client's issuers.
    ///
    /// RFC 8693 §2.1: a JWT is of the issuer that its `iss` names, and any other text of the only one that describes its tokens, which must get
    /// none of the gateway's own.
    package func issuer(of token: String, exchangedBy client: ClientSettings) -> TokenIssuer? {
        guard !ServiceToken.isOne(token), !token.hasPrefix(RefreshToken.prefix) else { return nil }
        guard token.utf8.count <= MachineCredential.maxSize, MachineCredential.isToken(token[...]) else { return nil }
        return self.issuer(of: token, among: client.exchangeIssuers.compactMap { self.issuers[$0] })
    }

    /// Whether a text is a JWT that names one of some issuers; it is not verified.
    package func hasIssuer(of credential: MachineCredential, among names: Set<String>) -> Bool {
        guard TokenIssuer.claimedIssuer(of: credential.text) != nil else { return false }
        return self.issuer(of: credential.text, among: names.compactMap { self.issuers[$0] }) != nil
    }

    private func issuer(of token: String, among accepted: [TokenIssuer]) -> TokenIssuer? {
        if let issuer = TokenIssuer.claimedIssuer(of: token) {
            return accepted.first { isIdentical($0.settings.provider.issuer ?? "", issuer) }
        }
        let introspecting = accepted.filter { issuer in
            if case .introspection = issuer.settings.verification { true } else { false }
        }
        return introspecting.count == 1 ? introspecting.first : nil
    }

    /// The issuers of a route that may have verified a token: beside a session only that of its `iss`, or it is the app's own.
    package func issuers(of route: RuntimeRoute, for credential: MachineCredential, hasSession: Bool) -> [TokenIssuer] {
        let accepted = route.route.issuers.compactMap { self.issuers[$0] }
        guard hasSession else { return accepted }
        guard case .issuer(let issuer) = self.verifier(of: credential, on: route, hasSession: true) else { return [] }
        return [issuer]
    }

    /// Who has to verify a token on a route.
    ///
    /// - Parameters:
    ///   - credential: The token.
    ///   - route: The route, which accepts some tokens.
    ///   - hasSession: Whether the request has a session cookie: then a text that is not a JWT of an issuer of the app and no
    ///     service token is the app's own.
    /// - Returns: The verifier.
    package func verifier(
        of credential: MachineCredential,
        on route: RuntimeRoute,
        hasSession: Bool
    ) -> MachineVerifier {
        if ServiceToken.isOne(credential.text) { return .serviceToken(self.serviceTokens[credential.hash]) }
        let isJWT = TokenIssuer.claimedIssuer(of: credential.text) != nil
        let accepted = route.route.issuers.compactMap { self.issuers[$0] }
        guard isJWT || !hasSession, let issuer = self.issuer(of: credential.text, among: accepted) else {
            let jwt = "no issuer of \(route.name) has the 'iss' of the token"
            return .none(why: isJWT ? jwt : "it is neither a service token nor a JWT")
        }
        return .issuer(issuer)
    }

    /// The user of a service token on a route, or why it is not accepted there.
    package func profile(
        of token: ServiceTokenSettings?,
        on route: RuntimeRoute,
        now: Instant
    ) -> Result<Profile, Failure> {
        guard let token else {
            return .failure(Failure(.tokenRejected, "the file has no service token with this hash; was it removed?"))
        }
        guard !token.isExpired(at: now) else {
            return .failure(Failure(.tokenRejected, "the service token '\(token.name)' has expired"))
        }
        guard route.route.serviceTokens.contains(token.name) else {
            let help = "add it to 'machines.service_tokens' of the app if it may"
            return .failure(Failure(.tokenRejected, "\(route.name) does not accept '\(token.name)'; \(help)"))
        }
        return .success(token.profile(issuer: "\(self.publicOrigin)"))
    }

    /// The challenge for a client whose access token does not have all of some scopes.
    ///
    /// RFC 6750 §3.1, RFC 9449 §7.1.
    package func challenge(on route: RuntimeRoute, scopes: [String], to request: RequestHead) -> String {
        let scheme = request.isBoundToKey ? "DPoP \(DPoPProof.algorithmList)" : "Bearer realm=\"gatehouse\""
        let scope = "scope=\"\(scopes.joined(separator: " "))\""
        return "\(scheme), error=\"insufficient_scope\", \(scope)\(self.metadataParameter(of: route))"
    }

    /// RFC 9728 §5.1.
    private func metadataParameter(of route: RuntimeRoute) -> String {
        self.resourceMetadata(of: route).map { ", resource_metadata=\"\($0)\"" } ?? ""
    }

    /// What a client of an MCP server is to ask for first: MCP, "Authorization", Scope Selection Strategy.
    ///
    /// Not all scopes of the app: a denial for want of one names that.
    private func scopeParameter(of route: RuntimeRoute) -> String {
        guard route.maxMCPBody != nil else { return "" }
        return ", scope=\"\((["openid"] + route.route.scopesOfEachAdmission).joined(separator: " "))\""
    }

    /// The challenges of a route for clients without a session or a valid token.
    ///
    /// RFC 6750 §3, RFC 7617 §2, RFC 9449 §7.1.
    ///
    /// - Parameters:
    ///   - route: The route.
    ///   - request: The request.
    ///   - isRejected: Whether the request has a token that is not valid.
    ///   - asksForPassword: Whether the client takes a challenge for a password as one; a browser would show a dialog.
    /// - Returns: The values of `WWW-Authenticate` beside that for sessions; none for an app that accepts no tokens.
    package func challenges(
        on route: RuntimeRoute,
        to request: RequestHead,
        isRejected: Bool,
        asksForPassword: Bool
    ) -> [String] {
        var challenges: [String] = []
        let isBound = route.takesTokens && request.isBoundToKey
        let error = isRejected ? ", error=\"invalid_token\"" : ""
        if route.takesBasic, asksForPassword { challenges.append("Basic realm=\"gatehouse\", charset=\"UTF-8\"") }
        if route.takesMachines || route.takesTokens {
            let more = "\(isBound ? "" : error)\(self.scopeParameter(of: route))\(self.metadataParameter(of: route))"
            challenges.append("Bearer realm=\"gatehouse\"\(more)")
        }
        if route.takesTokens, isBound || self.issuer?.clients.values.contains(where: \.requiresDPoP) ?? false {
            challenges.append("DPoP \(DPoPProof.algorithmList)\(isBound ? error : "")")
        }
        return challenges
    }
}

extension RequestHead {
    /// Whether it has a token that is bound to a key, RFC 9449 §7.1.
    fileprivate var isBoundToKey: Bool {
        guard let field = self.message.first(.authorization) else { return false }
        return self.message.text(field.valueRange).lowercased().hasPrefix("dpop ")
    }
}
