// SPDX-License-Identifier: Apache-2.0

internal import GateCore

// The fields of a profile and where each type of provider has them from, as the documents show it.
//
// It is generated from the definitions that the sign-in uses.
extension ProviderType {
    /// A heading and a table for each type in the catalogue, in Markdown; that none is missing, the tests see to.
    package static var profileTables: String {
        ProviderType.all.compactMap { try? $0.profileTable() }.joined(separator: "\n")
    }

    /// The heading and the table of the type.
    func profileTable() throws(Failure) -> String {
        let mapping = try ProviderDefinition(self.typicalSettings).mapping
        let cells = ProfileField.allCases.map { ($0.rawValue, self.cell($0, mapping)) }
        let rows = cells.compactMap { name, cell in cell.map { "| `\(name)` | \($0) |" } }
        let unfilled = cells.filter { $0.1 == nil }.map { "`\($0.0)`" }.joined(separator: ", ")
        let lines = [
            "### `\(self.name)`", "", self.note, "| field | sources, the first with a value wins |", "|---|---|",
        ]
        let end = unfilled.isEmpty ? [] : ["", "Empty without an override: \(unfilled)."]
        return (lines.filter { $0 != "-" } + rows + end).joined(separator: "\n") + "\n"
    }

    /// Settings with which every source of the type is in use.
    private var typicalSettings: ProviderSettings {
        var settings = ProviderSettings(id: self.name, type: self, clientID: "client", clientSecret: Secret(text: ""))
        settings.issuer = self.required.contains(.issuer) ? "https://id.example.com/" : nil
        settings.groups = Array(self.lookups.prefix(1))
        guard self.required.contains(.tokenEndpoint) else { return settings }
        settings.authorizationEndpoint = WebURL("https://id.example.com/authorize")
        settings.tokenEndpoint = WebURL("https://id.example.com/token")
        settings.apiURL = WebURL("https://api.example.com")
        settings.profile = ["subject": ["api:/user#/id"]]
        return settings
    }

    private var note: String {
        if self.required.contains(.tokenEndpoint) {
            return "Every source is written in the file; `subject` must be, here as an example.\n"
        }
        guard !self.lookups.isEmpty else { return "-" }
        return "With `groups`, which may list \(self.lookups.map { "`\($0)`" }.joined(separator: ", ")).\n"
    }

    private func cell(_ field: ProfileField, _ mapping: ProfileMapping) -> String? {
        switch field {
        case .provider: return "the name in the file"
        case .issuer: return self.issuerSource(mapping)
        case .emailVerified: return self.verified(mapping)
        case .emailAuthoritative: return Self.authoritative(mapping.trust.authority)
        case .groupsComplete: return Self.complete(mapping.steps(.groups))
        default:
            let chain = self.chain(field, mapping)
            return chain.isEmpty ? nil : chain
        }
    }

    private func chain(_ field: ProfileField, _ mapping: ProfileMapping) -> String {
        mapping.chain(of: field).map { "`\($0)`" }.joined(separator: ", ")
    }

    private func issuerSource(_ mapping: ProfileMapping) -> String {
        if self.required.contains(.issuer) { return "`issuer` in the file" }
        if self.settings.contains(.issuer) { return "`issuer` in the file, else the origin of `token_endpoint`" }
        return switch mapping.issuer {
        case .exact(let issuer), .aliased(let issuer, _): "`\(issuer)`, or the like at `base_url`"
        case .tenanted: "`id_token:/iss`"
        }
    }

    private func verified(_ mapping: ProfileMapping) -> String {
        let isListed = mapping.steps(.email).contains { step in
            guard case .verifiedEntry = step else { return false }
            return true
        }
        if isListed { return "true, since only verified addresses are taken" }
        let chain = self.chain(.emailVerified, mapping)
        let tenants = mapping.trust.verifiedTenants.isEmpty ? "" : ", or true for a personal account"
        let trust = self.settings.contains(.trustEmail) ? ", or true with `trust_email`" : ""
        return chain.isEmpty ? "always false" : "\(chain)\(tenants)\(trust); else false"
    }

    private static func authoritative(_ authority: EmailTrust.Authority) -> String {
        switch authority {
        case .none:
            return "always false"
        case .domainsAndTenants(let domains):
            let list = domains.map { "`\($0)`" }.joined(separator: ", ")
            return "true if the address is verified, and of \(list) or there is a `tenant`"
        case .verifiedClaim(let personal):
            let list = personal.map { "`\($0)`" }.joined(separator: ", ")
            return
                "true if the claim marks the address as verified, with `trust_email`, or for a personal account's "
                + "address of \(list)"
        }
    }

    private static func complete(_ steps: [ProfileStep]) -> String {
        guard !steps.isEmpty else { return "always false, since nothing lists groups" }
        guard steps != [.lookedUp] else { return "true if the look-up came to its end" }
        guard !steps.contains(.lookedUp) else {
            return "true if the token lists all groups, or the look-up came to its end"
        }
        let isPartial = steps.contains { step in
            guard case .someNames = step else { return false }
            return true
        }
        guard !isPartial else { return "false if only the last source has values" }
        return "true if the list is there and nothing had to be left out"
    }
}
