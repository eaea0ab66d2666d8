// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateOpenID
internal import GateProviders

extension ProviderChecks {
    /// Whether the document names the issuer of the file and has all endpoints.
    var discovery: ProviderFinding {
        switch (self.findings.endpoints, self.findings.discovery) {
        case (.success(let endpoints), .some):
            let token = endpoints.called.first.map { "\($0)" } ?? "-"
            return self.line(
                .discovery,
                .good,
                "issuer \(endpoints.issuer), sign-in at \(endpoints.authorization), tokens from \(token)"
            )
        case (.success(let endpoints), nil):
            let token = endpoints.called.first.map { "\($0)" } ?? "-"
            return self.line(
                .discovery,
                .unasked,
                "this provider has no document; sign-in at \(endpoints.authorization), tokens from \(token)"
            )
        case (.failure(let failure), let address):
            return self.line(.discovery, .failure, self.text(of: failure, at: address))
        }
    }

    /// Whether any key verifies this provider's tokens.
    var keys: ProviderFinding {
        switch self.findings.keys {
        case .success(let keys):
            return self.judgement(of: keys)
        case .failure(let failure):
            let address = self.findings.document?["jwks_uri"]?.string.flatMap { WebURL($0) }
            return self.line(.keys, .failure, self.text(of: failure, at: address))
        case nil where self.definition.usesSecretForTokens && self.findings.document != nil:
            return self.secretJudgement
        case nil:
            return self.unknown(.keys, "this provider signs nothing that has to be verified")
        }
    }

    /// Tokens that are verified with the client secret have no keys to look at.
    private var secretJudgement: ProviderFinding {
        let accepted = self.acceptedAlgorithms
        guard let signed = self.signedWith, Set(signed).isDisjoint(with: accepted) else {
            let text = "ID tokens are verified with client_secret: \(accepted.joined(separator: ", "))"
            return self.line(.keys, .good, text)
        }
        return self.line(.keys, .failure, self.mismatch(signed))
    }

    private var acceptedAlgorithms: [String] { self.definition.signatureAlgorithms.map(\.rawValue).sorted() }

    /// The signature algorithms of ID tokens in the document; nil if it has none.
    private var signedWith: [String]? {
        self.list("id_token_signing_alg_values_supported").flatMap { $0.isEmpty ? nil : $0 }
    }

    private func mismatch(_ signed: [String]) -> String {
        let accepted = self.acceptedAlgorithms.joined(separator: ", ")
        return "ID tokens are signed with \(self.some(signed)), admitted are \(accepted); choose one of these for this "
            + "client at the provider, or list what it uses in \(self.key("id_token_algorithms"))"
    }

    /// Of what the provider may choose for a client, what would be refused here; empty if nothing would.
    private var refusedAlgorithms: String {
        let others = (self.signedWith ?? []).filter { !self.acceptedAlgorithms.contains($0) && $0 != "none" }
        guard !others.isEmpty else { return "" }
        return
            "; it also offers \(self.some(others)), which are not admitted: a client that is set to one of these there "
            + "needs it in \(self.key("id_token_algorithms"))"
    }

    private func judgement(of keys: KeyFindings) -> ProviderFinding {
        let refused = keys.rejected.prefix(5).joined(separator: ", ")
        if let signed = self.signedWith, Set(signed).isDisjoint(with: self.acceptedAlgorithms) {
            return self.line(.keys, .failure, self.mismatch(signed))
        }
        guard keys.usable > 0 else {
            let why = refused.isEmpty ? "the document has no key for signatures" : refused
            let advice =
                "the provider has to publish another, or \(self.key("id_token_algorithms")) to list its algorithm"
            return self.line(.keys, .failure, "no key can be used: \(why); \(advice)")
        }
        var text = "\(keys.usable) usable: \(keys.algorithms.joined(separator: ", "))\(self.refusedAlgorithms)"
        if !refused.isEmpty { text += "; refused are \(refused)" }
        if !keys.repeatedNames.isEmpty {
            let names = keys.repeatedNames.prefix(5).joined(separator: ", ")
            text += "; several keys are called \(names), and each that fits the algorithm is tried"
        }
        let isGood = refused.isEmpty && keys.repeatedNames.isEmpty
        return self.line(.keys, isGood ? .good : .warning, text)
    }

    /// The first of a received list.
    func some(_ texts: [String]) -> String {
        texts.prefix(8).joined(separator: ", ") + (texts.count > 8 ? ", ..." : "")
    }

    /// A failure, and what to change because of it.
    private func text(of failure: Failure, at address: WebURL?) -> String {
        let place = address.map { " (asked: \($0))" } ?? ""
        return "\(failure.detail)\(self.remedy(for: failure, at: address).map { "; \($0)" } ?? "")\(place)"
    }

    private func remedy(for failure: Failure, at address: WebURL?) -> String? {
        let place = self.addressKey
        switch failure.reason {
        case .openIDDiscoveryIssuerMismatch, .openIDIssuerMismatch:
            let key = self.settings.issuer == nil ? place : self.key("issuer")
            let help = "write it as the provider does in \(key), if it is the one you mean"
            // Below the issuer that the document names there may be no document, or another one.
            guard self.settings.issuer != nil, self.settings.metadataURL == nil, let address else { return help }
            return "\(help); if that issuer has no metadata of its own, also write 'metadata_url: \(address)'"
        case .providerUnavailable, .providerRedirected, .providerContentType, .providerMalformedJSON,
            .providerResponseMalformed:
            return "check \(place) in the file; the response is not the document"
        case .providerUnreachable, .providerTimeout, .providerConnectionLost:
            return "check \(place) in the file, and whether this machine may connect to it"
        case .openIDMetadata, .openIDEndpointsMissing, .openIDKeySet, .providerTooLarge, .providerResponseTooLarge:
            return "the provider has to mend its document"
        default:
            return nil
        }
    }

    /// The key of the file that the provider's addresses come from.
    private var addressKey: String {
        if self.settings.metadataURL != nil { return self.key("metadata_url") }
        if self.settings.issuer != nil { return self.key("issuer") }
        if self.settings.baseURL != nil { return self.key("base_url") }
        return self.settings.tenant != nil ? self.key("tenant") : "providers.\(self.settings.id)"
    }
}
