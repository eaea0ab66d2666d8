// SPDX-License-Identifier: Apache-2.0

internal import GateClients
internal import GateConfiguration
internal import GateCore
package import GateHTTP
internal import GateHeaders
internal import GateIssuer
internal import GateRuntime
internal import GateSessions

extension TokenEndpoints {
    /// Registers a client without a secret.
    ///
    /// Nothing is stored: the id is the registration, sealed.
    ///
    /// RFC 7591 §3.1 and §3.2.1.
    package func register(_ request: EndpointRequest) async -> Response {
        do {
            let limits = self.runtime.limits.signIns
            try self.runtime.services.openClients.admit(request.client, within: limits)
            let limit = SharedLimit.registrations(limits.perMinute)
            guard await self.runtime.sessions.count(limit, of: request.network, now: request.now) else {
                let detail = "over \(limits.perMinute) new clients a minute from one address, at all gateways together"
                throw Failure(.signInTooOften, detail, retryAfter: .seconds(60))
            }
            guard let json = request.json else {
                throw OAuthError(.invalidClientMetadata, "the body is not application/json")
            }
            let metadata = try ClientMetadata(json)
            var members: [String: JSON] = [
                "client_id": .string(try SealedRegistration.id(of: metadata, sealedBy: self.runtime.sealer)),
                "client_id_issued_at": .int(request.now.seconds),
                "redirect_uris": .array(metadata.redirectURIs.map { .string($0.text) }),
                // What the client asks for does not count, RFC 7591 §3.2.1: there are no secrets.
                "token_endpoint_auth_method": "none", "response_types": ["code"],
                "grant_types": [
                    .string(GrantType.authorizationCode.rawValue), .string(GrantType.refreshToken.rawValue),
                ],
            ]
            members["client_name"] = metadata.name.map(JSON.string)
            return TokenEndpoints.json(201, .object(members))
        } catch let error as OAuthError {
            return self.response(to: error)
        } catch let failure as Failure {
            return self.runtime.rendering.response(to: failure, for: ClientKind(wantsPage: false))
        } catch {
            return self.response(to: OAuthError(.serverError, "unknown"))
        }
    }
}
