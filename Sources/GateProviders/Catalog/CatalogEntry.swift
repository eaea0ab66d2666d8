// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// What the catalogue knows about one type of provider, before an operator's own wishes.
struct CatalogEntry: Sendable {
    var buttonText: String
    var signIn: ProviderDefinition.SignInProtocol
    var issuer: IssuerRule
    var scopes: [String]
    var clientAuthentication: ProviderDefinition.ClientAuthentication
    var forcesPKCE = true
    var authorizationParameters: [Form.Field] = []
    var signatureAlgorithms: Set<SignatureAlgorithm> = [.rs256]
    var keyRetention = Duration.seconds(3600)
    var requiredAPIPaths: Set<String> = []
    var apiHeaders: [Form.Field] = []
    var chains: [ProfileField: [ProfileStep]]
    var trust = EmailTrust()

    /// The address of discovery below a base.
    ///
    /// OpenID Connect Discovery §4.
    static func discovery(below base: String) throws(Failure) -> ProviderDefinition.SignInProtocol {
        .openID(discovery: try self.address("\(base)/.well-known/openid-configuration"))
    }

    static func address(_ text: String) throws(Failure) -> WebAddress {
        guard let address = WebAddress(text) else {
            throw Failure(.internalFault, "provider.definition", "this is no https address: \(text)")
        }
        return try self.checked(address)
    }

    /// The address, if nobody on the way can read what is sent there.
    static func checked(_ address: WebAddress) throws(Failure) -> WebAddress {
        guard address.origin.isSecure || address.origin.isLoopback else {
            throw Failure(.internalFault, "provider.definition", "this is no https address: \(address)")
        }
        return address
    }

    /// A base address as text that paths can be appended to.
    static func base(_ address: WebAddress?, else standard: String) -> String {
        guard var text = address?.description else { return standard }
        while text.hasSuffix("/") { text.removeLast() }
        return text
    }

    /// The claim in the ID token, else the member of the userinfo answer.
    static func claim(_ pointer: String) -> [ProfileStep] {
        [.claim(.idToken(pointer)), .claim(.userinfo(pointer))]
    }
}
