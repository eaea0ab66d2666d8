// SPDX-License-Identifier: Apache-2.0

internal import GateYAML

/// The claims that Authelia makes of attributes of users, for its OpenID clients: apps get none of them from Authelia itself.
///
/// https://www.authelia.com/integration/openid-connect/openid-connect-1.0-claims/#custom-claims
struct AutheliaClaims {
    /// The claims by the names of the result.
    let claims: ImportedClaims
    /// The names of the claims in the result.
    let names: [String]
    let scopes: [ConfigText]
    /// Where they are.
    let place: ImportPlace?

    init(_ root: SourceNode) {
        let oidc = root["identity_providers"]?["oidc"]
        let policies = oidc?["claims_policies"]
        let found = (policies?.entries ?? []).flatMap { _, policy in
            (policy["custom_claims"]?.entries ?? []).map { key, value in value["name"]?.text ?? key }
        }
        self.claims = ImportedClaims(found, from: [.idToken, .userinfo])
        self.names = Set(found.compactMap(self.claims.name)).sorted()
        let standard: Set = ["openid", "profile", "email", "groups"]
        self.scopes = (oidc?["scopes"]?.entries ?? []).compactMap { name, scope in
            let claims = scope["claims"]?.texts ?? []
            let isPlain = name.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
            return !standard.contains(name) && isPlain && !Set(claims).isDisjoint(with: found) ? ConfigText(name) : nil
        }
        self.place = policies?.owner
    }
}
