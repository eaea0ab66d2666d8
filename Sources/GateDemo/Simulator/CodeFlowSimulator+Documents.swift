// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension CodeFlowSimulator {
    /// The discovery document or the key set, if that is what the path leads to.
    func document(at path: String) -> DemoResponse? {
        switch path {
        case self.traits.paths.discovery: .json(.object(self.discovery))
        case self.traits.paths.keys: self.traits.idToken.map { self.keySet($0) }
        default: nil
        }
    }

    /// OpenID Connect Discovery §3.
    private var discovery: [String: JSON] {
        let traits = self.traits
        let address = self.stage.address
        var members: [String: JSON] = [
            "issuer": .string(traits.issuer),
            "authorization_endpoint": .string(address.pages + traits.paths.authorize),
            "token_endpoint": .string(address.base + traits.paths.token),
            "response_types_supported": ["code"],
            "response_modes_supported": .array(traits.authorization.responseModes.map { .string($0) }),
            "subject_types_supported": ["public"],
            "scopes_supported": ["openid", "profile", "email"],
            "token_endpoint_auth_methods_supported": .array(traits.token.proofs.map { .string($0.published) }),
        ]
        let others = [
            "jwks_uri": traits.paths.keys, "userinfo_endpoint": traits.paths.userinfo,
            "pushed_authorization_request_endpoint": traits.paths.pushed,
        ]
        for (name, path) in others {
            if let path { members[name] = .string(address.base + path) }
        }
        if let idToken = traits.idToken {
            members["id_token_signing_alg_values_supported"] = [.string(idToken.key.algorithm)]
        }
        if traits.authorization.challenge != .unwanted { members["code_challenge_methods_supported"] = ["S256"] }
        if traits.authorization.requiresPushed { members["require_pushed_authorization_requests"] = true }
        if traits.authorization.sendsIssuer { members["authorization_response_iss_parameter_supported"] = true }
        if traits.token.proofs.contains(.assertion) {
            members["token_endpoint_auth_signing_alg_values_supported"] = ["ES256"]
        }
        return members.merging(traits.metadata) { $1 }.filter { $0.value != .null }
    }

    /// RFC 7517 §5.
    private func keySet(_ idToken: IDTokenTraits) -> DemoResponse {
        let own = idToken.key.published.filter { !idToken.unpublished.contains($0.key) }
        return .json(["keys": .array(idToken.otherKeys + [.object(own)])], fields: idToken.keyFields)
    }
}
