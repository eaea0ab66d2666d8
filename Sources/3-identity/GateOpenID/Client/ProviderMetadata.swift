// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders

/// Where a provider's endpoints are.
///
/// OpenID Connect Discovery §3, RFC 8414 §2.
struct ProviderMetadata: Sendable, Equatable {
    let issuer: String
    let authorization: WebURL
    let token: WebURL
    let keys: WebURL?
    let userinfo: WebURL?
    let endSession: WebURL?
    /// Where tokens are revoked, RFC 7009; nil if the provider does not offer it.
    let revocation: WebURL?
    let requiresCallbackIssuer: Bool
    let clientAuthentication: ProviderDefinition.ClientAuthentication
    /// What assertions are signed with; without meaning where none are made.
    let assertionAlgorithm: String
    /// Where authorization requests are sent ahead; nil if they are not.
    let pushedAuthorization: WebURL?

    /// The metadata of a provider with fixed endpoints.
    init(
        _ endpoints: ProviderDefinition.OAuth2Endpoints,
        of definition: ProviderDefinition,
        _ choice: ClientAuthenticationChoice? = nil
    ) throws(Failure) {
        let choice = choice ?? ClientAuthenticationChoice(wanted: definition.clientAuthentication)
        self.issuer = definition.issuer.canonical(for: nil)
        self.authorization = definition.authorizationEndpoint ?? endpoints.authorization
        self.token = endpoints.token
        self.keys = nil
        self.userinfo = nil
        self.endSession = nil
        self.revocation = nil
        self.requiresCallbackIssuer = definition.requiresCallbackIssuer ?? false
        self.clientAuthentication = try choice.method(nil)
        self.assertionAlgorithm = try choice.algorithm(for: self.clientAuthentication, nil)
        guard !definition.pushesAuthorization else {
            let detail = "a provider without metadata takes no pushed requests: remove pushed_authorization"
            throw Failure(.openIDPushedAuthorization, detail)
        }
        self.pushedAuthorization = nil
    }

    /// Reads a discovery document; it must be of the issuer that was configured.
    ///
    /// OpenID Connect Discovery §4.3.
    init(
        _ document: JSON,
        of definition: ProviderDefinition,
        _ choice: ClientAuthenticationChoice? = nil
    ) throws(Failure) {
        guard let issuer = document["issuer"]?.string, definition.issuer.admits(discovered: issuer) else {
            let found = document["issuer"]?.string.map { ReceivedText.quoted($0) } ?? "none"
            throw Failure(.openIDDiscoveryIssuerMismatch, "discovery names the issuer \(found)")
        }
        try ProviderMetadata.checkChallengeMethods(document, of: definition)
        let choice = choice ?? ClientAuthenticationChoice(wanted: definition.clientAuthentication)
        let shown = choice.hasCertificate ? ProviderMetadata.withAliases(document) : document
        let reader = EndpointReader(shown, of: issuer, at: definition.discovery)
        self.issuer = issuer
        self.authorization = try reader.required(
            "authorization_endpoint",
            byBrowser: true,
            replacedBy: definition.authorizationEndpoint
        )
        let own = definition.ownEndpoints
        self.token = try reader.required("token_endpoint", replacedBy: own.token)
        self.keys =
            definition.usesSecretForTokens
            ? try reader.optional("jwks_uri", replacedBy: own.keys)
            : try reader.required("jwks_uri", replacedBy: own.keys)
        self.userinfo = try reader.optional("userinfo_endpoint", replacedBy: own.userinfo)
        self.endSession = try reader.optional("end_session_endpoint", byBrowser: true)
        // Without it no sign-in fails, so a malformed one counts as absent.
        self.revocation = try? reader.optional("revocation_endpoint")
        self.requiresCallbackIssuer =
            definition.requiresCallbackIssuer
            ?? (document["authorization_response_iss_parameter_supported"]?.bool == true)
        self.clientAuthentication = try choice.method(document)
        if [.certificate, .ownCertificate].contains(self.clientAuthentication), !self.token.origin.isSecure {
            throw Failure(.openIDMetadata, "token_endpoint is plain http, where no certificate is shown")
        }
        self.assertionAlgorithm = try choice.algorithm(for: self.clientAuthentication, document)
        let pushed = try reader.optional("pushed_authorization_request_endpoint")
        let isRequired = document["require_pushed_authorization_requests"]?.bool == true
        try ProviderMetadata.checkPushing(definition.pushesAuthorization, offered: pushed != nil, isRequired)
        self.pushedAuthorization = definition.pushesAuthorization ? pushed : nil
    }

    /// The document with the endpoints at which the provider asks for certificates, where it has others for that.
    ///
    /// RFC 8705 §5.
    private static func withAliases(_ document: JSON) -> JSON {
        guard var members = document.object, let aliases = document["mtls_endpoint_aliases"]?.object else {
            return document
        }
        let names = [
            "token_endpoint", "userinfo_endpoint", "revocation_endpoint", "pushed_authorization_request_endpoint",
        ]
        for name in names {
            if let alias = aliases[name], alias != .null { members[name] = alias }
        }
        return .object(members)
    }

    /// A provider that lists its methods without S256 would ignore the challenge.
    ///
    /// RFC 9700 §2.1.1.
    private static func checkChallengeMethods(_ document: JSON, of definition: ProviderDefinition) throws(Failure) {
        guard definition.pkce == .auto, let methods = document["code_challenge_methods_supported"]?.array else {
            return
        }
        guard methods.contains("S256") else {
            throw Failure(.openIDMetadata, "the provider does not support PKCE with S256")
        }
    }

    /// RFC 9126 §5.
    private static func checkPushing(_ isWanted: Bool, offered: Bool, _ isRequired: Bool) throws(Failure) {
        let detail: String? =
            switch (isWanted, offered, isRequired) {
            case (true, false, _): "the provider has no endpoint for pushed requests: remove pushed_authorization"
            case (false, _, true): "the provider takes pushed requests only: set pushed_authorization: true"
            case (true, true, _), (false, _, false): nil
            }
        if let detail { throw Failure(.openIDPushedAuthorization, detail) }
    }
}

/// Reads endpoints out of a discovery document; they are https, or plain on this machine if the issuer is.
///
/// Where only the browser goes, this machine may be plain under every issuer: no secret of the gateway travels there.
struct EndpointReader {
    let document: JSON
    let allowsPlainLoopback: Bool

    /// Reads the metadata of an issuer, which decides about plain URLs, as does the URL of the metadata in the file.
    init(_ document: JSON, of issuer: String, at address: WebURL? = nil) {
        self.document = document
        self.allowsPlainLoopback = [WebURL(issuer), address].contains { url in
            url.map { !$0.origin.isSecure && $0.origin.isLoopback } ?? false
        }
    }

    /// An endpoint that has to be there, by the document or by the file.
    func required(_ name: String, byBrowser: Bool = false, replacedBy own: WebURL? = nil) throws(Failure) -> WebURL {
        guard let address = try self.optional(name, byBrowser: byBrowser, replacedBy: own) else {
            throw Failure(.openIDMetadata, "discovery has no \(name)")
        }
        return address
    }

    /// An endpoint; nil if neither the document nor the file has one.
    func optional(_ name: String, byBrowser: Bool = false, replacedBy own: WebURL? = nil) throws(Failure) -> WebURL? {
        if let own { return own }
        guard let value = self.document[name], value != .null else { return nil }
        guard let address = value.string.flatMap({ WebURL($0) }), self.isAllowed(address.origin, byBrowser: byBrowser)
        else {
            throw Failure(.openIDMetadata, "\(name) is not an https URL")
        }
        return address
    }

    private func isAllowed(_ origin: Origin, byBrowser: Bool) -> Bool {
        origin.isSecure || (origin.isLoopback && (byBrowser || self.allowsPlainLoopback))
    }
}
