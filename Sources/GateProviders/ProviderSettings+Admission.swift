// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension ProviderSettings {
    /// The settings that decide who may sign in and who somebody is: when one of them changes, sessions do not count any
    /// more.
    ///
    /// How the provider is reached, and how the gateway proves who it is, is not among them. What is not set stands as an
    /// empty text, and new settings go to the end only if they are set, so that an upgrade ends no session.
    package var admissionTerms: [(name: String, value: String)] {
        var terms: [(name: String, value: String)] = [
            ("type", self.type.name), ("client_id", self.clientID), ("issuer", self.issuer ?? ""),
            ("base_url", self.baseURL.map { "\($0)" } ?? ""), ("api_url", self.apiURL.map { "\($0)" } ?? ""),
            ("token_endpoint", self.tokenEndpoint.map { "\($0)" } ?? ""), ("tenant", self.tenant ?? ""),
            ("tenants", ProviderSettings.joined(self.tenants)), ("trust_email", "\(self.trustsEmail)"),
            ("hosted_domains", ProviderSettings.joined(self.hostedDomains)),
            ("workspaces", ProviderSettings.joined(self.workspaces)), ("reject_noreply", "\(self.rejectsNoreply)"),
        ]
        if !self.trustedAudiences.isEmpty {
            terms.append(("trusted_audiences", ProviderSettings.joined(self.trustedAudiences)))
        }
        let fields = ["subject", "tenant", "email", "email_verified", "groups", "roles"]
        for field in fields {
            guard let sources = self.profile[field] else { continue }
            terms.append(("profile.\(field)", sources.map { "\($0.utf8.count):\($0)" }.joined()))
        }
        return terms
    }

    /// A list whose order does not matter.
    private static func joined(_ list: [String]) -> String {
        Set(list).sorted().map { "\($0.utf8.count):\($0)" }.joined()
    }
}
