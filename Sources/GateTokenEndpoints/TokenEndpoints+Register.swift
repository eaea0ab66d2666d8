// SPDX-License-Identifier: Apache-2.0

internal import GateClients
internal import GateConfiguration
internal import GateCore
package import GateHTTP
internal import GateHeaders
internal import GateIssuer
internal import GateRuntime

extension TokenEndpoints {
    /// Registers a client without a secret.
    ///
    /// Nothing is stored: the id is the registration, sealed.
    ///
    /// RFC 7591 §3.1 and §3.2.1.
    package func register(_ request: EndpointRequest) -> Response {
        do {
            try self.runtime.openClients.admit(request.client, within: self.runtime.limits.signIns)
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
