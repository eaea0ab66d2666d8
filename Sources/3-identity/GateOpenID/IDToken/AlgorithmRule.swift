// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders

/// The token must be signed with an algorithm that this provider may use.
///
/// RFC 8725 §3.1: the header only selects one of those.
struct AlgorithmRule: Sendable {
    /// The key in the file, for the advice.
    private let key: String
    let admitted: Set<SignatureAlgorithm>

    init(_ definition: ProviderDefinition) {
        self.key = "providers.\(definition.id).id_token_algorithms"
        self.admitted = definition.signatureAlgorithms
    }

    /// The rule for tokens that machines bring.
    init(forTokensOf issuer: ProviderDefinition) {
        self.key = "issuers.\(issuer.id).algorithms"
        self.admitted = issuer.signatureAlgorithms
    }

    /// The algorithm of a header, or why it is not admitted.
    func algorithm(of header: JSON?) -> Result<SignatureAlgorithm, TokenRejection> {
        if let algorithm = header?.string.flatMap(SignatureAlgorithm.init), self.admitted.contains(algorithm) {
            return .success(algorithm)
        }
        let names = self.admitted.map(\.rawValue).sorted().joined(separator: ", ")
        let detail = "alg is \(ReceivedText.shown(header)), admitted are \(names); \(self.advice(for: header))"
        return .failure(TokenRejection(.idTokenAlgorithm, "RFC 8725 §3.1", detail: detail))
    }

    /// The line to change, here or at the provider.
    private func advice(for header: JSON?) -> String {
        let atProvider = "choose one of them for this client at the provider (id_token_signed_response_alg)"
        guard let received = header?.string.flatMap(SignatureAlgorithm.init) else { return atProvider }
        guard received.isSymmetric else { return "\(atProvider), or write '\(self.key): [\(received.rawValue)]'" }
        return "\(atProvider), or, for type oidc, write '\(self.key): [\(received.rawValue)]' without other algorithms"
    }
}
