// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders

/// Chooses between what a provider offers and what the file has to prove who we are.
///
/// OpenID Connect Discovery §3, `token_endpoint_auth_methods_supported`.
struct ClientAuthenticationChoice: Sendable {
    /// What the file or the type of provider wants.
    let wanted: ProviderDefinition.ClientAuthentication
    let hasSecret: Bool
    let key: ClientKey?

    init(
        wanted: ProviderDefinition.ClientAuthentication,
        hasSecret: Bool = true,
        key: ClientKey? = nil,
        hasAssertion: Bool = false
    ) {
        self.hasSecret = hasSecret
        self.key = key
        // A file of assertions, and having nothing, leave one way only, whatever the provider announces.
        guard !hasAssertion else {
            self.wanted = .assertionFile
            return
        }
        switch wanted {
        case .secretPost, .secretBasic, .advertised:
            guard !hasSecret else {
                self.wanted = wanted
                return
            }
            self.wanted = key == nil ? .none : wanted == .advertised ? wanted : .privateKeyJWT
        case .privateKeyJWT, .signedSecret, .assertionFile, .none:
            self.wanted = wanted
        }
    }

    /// What is used at a provider whose metadata are these; nil for a provider without metadata.
    ///
    /// The strongest that both have: a signature, then Basic, then the body. RFC 9700 §2.5.
    func method(_ metadata: JSON?) throws(Failure) -> ProviderDefinition.ClientAuthentication {
        guard self.wanted == .advertised else { return self.wanted }
        let listed = metadata?["token_endpoint_auth_methods_supported"]?.array?.compactMap(\.string) ?? []
        let offered = listed.isEmpty ? ["client_secret_basic"] : listed
        if self.key != nil, offered.contains("private_key_jwt") { return .privateKeyJWT }
        if self.hasSecret, offered.contains("client_secret_basic") { return .secretBasic }
        if self.hasSecret, offered.contains("client_secret_post") { return .secretPost }
        let names = ReceivedText.quoted(offered.joined(separator: " "))
        let owned = [self.hasSecret ? "client_secret" : nil, self.key == nil ? nil : "private_key"]
            .compactMap { $0 }.joined(separator: " and ")
        throw Failure(
            .openIDClientAuthentication,
            "the provider takes \(names), the file has \(owned.isEmpty ? "nothing" : owned)"
        )
    }

    /// The algorithm of assertions, if assertions are what is used.
    func algorithm(
        for method: ProviderDefinition.ClientAuthentication,
        _ metadata: JSON?
    ) throws(Failure) -> String {
        guard method == .privateKeyJWT, let key = self.key else { return "ES256" }
        let listed = metadata?["token_endpoint_auth_signing_alg_values_supported"]?.array?.compactMap(\.string)
        guard let algorithm = key.algorithm(offered: listed?.isEmpty == true ? nil : listed) else {
            let names = ReceivedText.quoted((listed ?? []).joined(separator: " "))
            throw Failure(
                .openIDClientAuthentication,
                "the provider takes signatures of \(names) only, which private_key cannot make"
            )
        }
        return algorithm
    }
}
