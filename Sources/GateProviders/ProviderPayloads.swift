// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// What a provider said about one person, after every check on it.
package struct ProviderPayloads: Sendable, Hashable {
    /// The claims of the verified ID token.
    package var idToken: JSON?
    /// The userinfo answer, of the same `sub`.
    package var userinfo: JSON?
    /// The answers of API calls by path.
    package var api: [String: JSON]

    /// Makes payloads; a provider without ID tokens brings API answers only.
    package init(idToken: JSON? = nil, userinfo: JSON? = nil, api: [String: JSON] = [:]) {
        self.idToken = idToken
        self.userinfo = userinfo
        self.api = api
    }

    /// The value a source points at; nil if there is none or it is null.
    func value(at source: ClaimSource) -> JSON? {
        let found: JSON? =
            switch source.document {
            case .idToken: self.idToken?.value(at: source.pointer)
            case .userinfo: self.userinfo?.value(at: source.pointer)
            case .api(let path): self.api[path]?.value(at: source.pointer)
            case .constant: .string(source.pointer)
            }
        return found == .null ? nil : found
    }
}
