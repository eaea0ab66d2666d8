// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders

/// The token must be of the provider's own issuer, and of a tenant that may sign in.
///
/// OpenID Connect Core §3.1.3.7, rule 2.
struct IssuerClaimRule: IDTokenRule {
    let issuer: IssuerRule
    let discovered: String

    func rejection(of token: UnverifiedIDToken, at now: Instant) -> TokenRejection? {
        switch self.issuer.verdict(on: token.claims, discovered: self.discovered) {
        case .accepted: nil
        case .foreign:
            TokenRejection(.idTokenIssuer, "OpenID Connect Core §3.1.3.7, rule 2", detail: self.detail(token))
        case .tenantRefused:
            TokenRejection(
                .providerTenant,
                "the tenant that the configuration names",
                detail: "tid is \(ReceivedText.shown(token.claims["tid"])), which tenant and tenants do not admit"
            )
        }
    }

    private func detail(_ token: UnverifiedIDToken) -> String {
        let received = ReceivedText.shown(token.claims["iss"])
        return "iss is \(received), expected \(ReceivedText.quoted(self.issuer.canonical(for: token.claims)))"
    }
}
