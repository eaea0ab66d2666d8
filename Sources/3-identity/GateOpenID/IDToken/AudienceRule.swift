// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders

/// The token must be for this client; others in its audience must be trusted, and then it must have been issued to this
/// client.
///
/// Other audiences could have received and kept the token, so the configuration names those that are trusted. OpenID Connect Core §3.1.3.7,
/// rules 3 to 5.
struct AudienceRule: IDTokenRule {
    let clientID: String
    /// Who else may be in the audience.
    var trusted: Set<String> = []

    func rejection(of token: UnverifiedIDToken, at now: Instant) -> TokenRejection? {
        let claim = token.claims["aud"]
        let audiences = claim?.array ?? (claim.map { [$0] } ?? [])
        guard audiences.contains(where: self.isOurs),
            audiences.allSatisfy({ self.isOurs($0) || self.isTrusted($0) })
        else { return self.foreign(claim) }
        guard let party = token.claims["azp"] else {
            return audiences.allSatisfy(self.isOurs) ? nil : self.issuedToOthers(nil)
        }
        return self.isOurs(party) ? nil : self.issuedToOthers(party)
    }

    private func foreign(_ claim: JSON?) -> TokenRejection {
        let others = self.trusted.isEmpty ? "" : ", and with it none but \(ReceivedText.list(self.trusted.sorted()))"
        let detail = "aud is \(ReceivedText.shown(claim)), expected \(ReceivedText.quoted(self.clientID))\(others)"
        let isWithOthers = claim?.array?.contains(where: self.isOurs) ?? false
        let advice = isWithOthers ? "; list the others in trusted_audiences if they may have such tokens" : ""
        return TokenRejection(.idTokenAudience, "OpenID Connect Core §3.1.3.7, rule 3", detail: detail + advice)
    }

    private func issuedToOthers(_ party: JSON?) -> TokenRejection {
        let expected = ReceivedText.quoted(self.clientID)
        let detail = "azp is \(ReceivedText.shown(party)), expected \(expected)"
        return TokenRejection(.idTokenAuthorizedParty, "OpenID Connect Core §3.1.3.7, rule 5", detail: detail)
    }

    private func isOurs(_ audience: JSON) -> Bool {
        audience.string.map { isIdentical($0, self.clientID) } ?? false
    }

    private func isTrusted(_ audience: JSON) -> Bool {
        audience.string.map { text in self.trusted.contains { isIdentical($0, text) } } ?? false
    }
}
