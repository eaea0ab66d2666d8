// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders

/// The token must be for us, for nobody else besides, and if it names the party it was issued to, that is us.
///
/// OpenID Connect Core §3.1.3.7, rules 3 to 5.
struct AudienceRule: IDTokenRule {
    let clientID: String

    func refusal(of token: UnverifiedIDToken, at now: Instant) -> Refusal? {
        let claim = token.claims["aud"]
        let audiences = claim?.array ?? (claim.map { [$0] } ?? [])
        guard !audiences.isEmpty, audiences.allSatisfy(self.isOurs) else {
            return Refusal("id_token.audience", "OpenID Connect Core §3.1.3.7, rule 3")
        }
        guard let party = token.claims["azp"] else { return nil }
        guard self.isOurs(party) else {
            return Refusal("id_token.authorized_party", "OpenID Connect Core §3.1.3.7, rule 5")
        }
        return nil
    }

    private func isOurs(_ audience: JSON) -> Bool {
        audience.string.map { isIdentical($0, self.clientID) } ?? false
    }
}
