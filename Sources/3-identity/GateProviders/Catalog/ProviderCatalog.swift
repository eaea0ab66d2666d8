// SPDX-License-Identifier: Apache-2.0

package import GateCore

extension ProviderType {
    /// The catalogue: adding a provider is one file and one line here.
    package static let all: [ProviderType] = [
        .google,
        .github,
        .microsoft,
        .apple,
        .gitlab,
        .okta,
        .auth0,
        .keycloak,
        .facebook,
        .linkedin,
        .discord,
        .slack,
        .oidc,
        .oauth2,
    ]
}

extension ProviderType: RawRepresentable, CaseIterable {
    /// The whole catalogue, and the type without a server.
    package static var allCases: [ProviderType] { self.all + [.local] }

    /// The type of that name, if there is one.
    package init?(rawValue: String) {
        guard let type = ProviderType.allCases.first(where: { $0.name == rawValue }) else { return nil }
        self = type
    }

    package var rawValue: String { self.name }
}

extension ProviderSetting {
    /// The types that have the setting, in the order of the catalogue.
    package var types: [ProviderType] { ProviderType.allCases.filter { $0.settings.contains(self) } }

    /// The types that require it.
    package var requiredBy: [ProviderType] { ProviderType.allCases.filter { $0.required.contains(self) } }
}

extension SignatureAlgorithm {
    /// Why a provider may not use the listed algorithms together; nil if it may.
    ///
    /// A published key must never serve as the secret of an HMAC, nor the secret as a key, so a provider has one kind
    /// of algorithm only. RFC 8725 §3.1, OpenID Connect Core §16.19.
    ///
    /// - Parameters:
    ///   - list: What the file lists.
    ///   - type: The type of the provider.
    ///   - secret: The client secret, empty for none.
    /// - Returns: The reason, and what to do about it.
    package static func conflict(in list: [SignatureAlgorithm], of type: ProviderType, secret: Secret) -> String? {
        guard let symmetric = list.first(where: \.isSymmetric) else { return nil }
        let name = symmetric.rawValue
        guard type == .oidc else { return "\(name) is for type oidc only; remove it" }
        if let other = list.first(where: { !$0.isSymmetric }) {
            return "\(name) and \(other.rawValue) exclude each other: list the one kind that this provider uses"
        }
        guard secret.count >= self.minSecretLength else {
            return
                "\(name) needs a client_secret of at least \(self.minSecretLength) bytes, not \(secret.count); set a "
                + "longer random one at the provider, or choose RS256 there"
        }
        return nil
    }
}
