// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateOpenID
internal import GateProviders

extension ExaminedProvider {
    /// Whether the document names the issuer of the file and has all endpoints.
    var discovery: ExaminationLine {
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
            return self.line(.discovery, .failure, self.complaint(failure, at: address))
        }
    }

    /// Whether any key verifies this provider's tokens.
    var keys: ExaminationLine {
        switch self.findings.keys {
        case .success(let keys):
            return self.judgement(of: keys)
        case .failure(let failure):
            let address = self.findings.document?["jwks_uri"]?.string.flatMap { WebAddress($0) }
            return self.line(.keys, .failure, self.complaint(failure, at: address))
        case nil:
            return self.unknown(.keys, "this provider signs nothing that has to be verified")
        }
    }

    private func judgement(of keys: KeyFindings) -> ExaminationLine {
        let refused = keys.refused.prefix(5).joined(separator: ", ")
        guard keys.usable > 0 else {
            let why = refused.isEmpty ? "there is none for signatures" : refused
            return self.line(.keys, .failure, "no key can be used: \(why); the provider has to publish another")
        }
        let accepted = self.definition.signatureAlgorithms.map(\.rawValue)
        if let signed = self.list("id_token_signing_alg_values_supported"), Set(signed).isDisjoint(with: accepted) {
            let wanted = accepted.sorted().joined(separator: ", ")
            let text = "ID tokens are signed with \(self.some(signed)); choose one of \(wanted) there"
            return self.line(.keys, .failure, text)
        }
        let usable = "\(keys.usable) usable: \(keys.algorithms.joined(separator: ", "))"
        guard refused.isEmpty else { return self.line(.keys, .warning, "\(usable); refused are \(refused)") }
        return self.line(.keys, .good, usable)
    }

    /// The first of a received list.
    func some(_ texts: [String]) -> String {
        texts.prefix(8).joined(separator: ", ") + (texts.count > 8 ? ", ..." : "")
    }

    /// A failure, and what to change because of it.
    private func complaint(_ failure: Failure, at address: WebAddress?) -> String {
        let place = address.map { " (asked: \($0))" } ?? ""
        return "\(failure.detail)\(self.remedy(for: failure).map { "; \($0)" } ?? "")\(place)"
    }

    private func remedy(for failure: Failure) -> String? {
        let place = self.addressKey
        switch failure.code {
        case "openid.issuer_mismatch":
            return "write it as the provider does in \(place), if it is the one you mean"
        case "provider.unavailable", "provider.redirected", "provider.content_type", "provider.malformed_json",
            "provider.answer_malformed":
            return "check \(place) in the file; what answers there is not the document"
        case "provider.unreachable", "provider.timeout", "provider.connection_lost":
            return "check \(place) in the file, and whether this machine may connect to it"
        case "openid.metadata", "openid.key_set", "provider.too_large", "provider.answer_too_large":
            return "the provider has to mend its document"
        default:
            return nil
        }
    }

    /// The key of the file that the provider's addresses come from.
    private var addressKey: String {
        if self.settings.issuer != nil { return self.key("issuer") }
        if self.settings.baseURL != nil { return self.key("base_url") }
        return self.settings.tenant != nil ? self.key("tenant") : "providers.\(self.settings.id)"
    }
}
