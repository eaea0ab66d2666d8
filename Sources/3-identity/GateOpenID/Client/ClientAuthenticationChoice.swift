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
    /// Whether the gateway shows a certificate to the provider.
    let hasCertificate: Bool

    init(
        wanted: ProviderDefinition.ClientAuthentication,
        hasSecret: Bool = true,
        key: ClientKey? = nil,
        hasCertificate: Bool = false,
        hasAssertion: Bool = false
    ) {
        self.hasSecret = hasSecret
        self.key = key
        self.hasCertificate = hasCertificate
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
            let own: ProviderDefinition.ClientAuthentication? =
                key != nil ? .privateKeyJWT : hasCertificate ? .certificate : nil
            self.wanted = own.map { wanted == .advertised ? wanted : $0 } ?? .none
        case .privateKeyJWT, .signedSecret, .assertionFile, .certificate, .ownCertificate, .none:
            self.wanted = wanted
        }
    }

    /// What is used at a provider whose metadata are these; nil for a provider without metadata.
    ///
    /// The strongest that both have: a signature, then a certificate, then Basic, then the body. RFC 9700 §2.5.
    func method(_ metadata: JSON?) throws(Failure) -> ProviderDefinition.ClientAuthentication {
        guard self.wanted == .advertised else { return self.wanted }
        let listed = metadata?["token_endpoint_auth_methods_supported"]?.array?.compactMap(\.string) ?? []
        // Without a list a secret is meant, so that a file with a certificate alone was written for a provider that leaves it out.
        if listed.isEmpty, self.hasCertificate, !self.hasSecret, self.key == nil { return .certificate }
        let offered = listed.isEmpty ? ["client_secret_basic"] : listed
        if self.key != nil, offered.contains("private_key_jwt") { return .privateKeyJWT }
        if self.hasCertificate {
            for method in [ProviderDefinition.ClientAuthentication.certificate, .ownCertificate]
            where offered.contains(method.rawValue) {
                return method
            }
        }
        if self.hasSecret, offered.contains("client_secret_basic") { return .secretBasic }
        if self.hasSecret, offered.contains("client_secret_post") { return .secretPost }
        let names = ReceivedText.quoted(offered.joined(separator: " "))
        let owned = [
            self.hasSecret ? "client_secret" : nil, self.key == nil ? nil : "private_key",
            self.hasCertificate ? "tls.certificate" : nil,
        ]
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
