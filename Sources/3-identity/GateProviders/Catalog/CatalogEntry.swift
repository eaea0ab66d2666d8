// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// What the catalogue knows about one type of provider, before an operator's own wishes.
struct CatalogEntry: Sendable {
    /// What its users know it by.
    var brand: String
    var signIn: ProviderDefinition.SignInProtocol
    var issuer: IssuerRule
    var scopes: [String]
    var clientAuthentication: ProviderDefinition.ClientAuthentication
    var pkce = ProviderDefinition.PKCERule.required
    var nonce = ProviderDefinition.NonceRule.required
    var responseMode = ProviderDefinition.ResponseMode.query
    /// Whether tokens are revoked at sign-out.
    ///
    /// Not where the provider revokes more than what this sign-in was given: the user's consent, or the tokens of the
    /// user's other browsers, whose sessions would end at their re-check.
    var revokesTokens = true
    var authorizationParameters: [Form.Field] = []
    /// What makes the provider offer another account than the one it knows; nil if nothing does.
    var accountChoice: Form.Field?
    /// What makes the provider authenticate the user again; nil if nothing is known to do so.
    var reauthentication: Form.Field?
    var signatureAlgorithms: Set<SignatureAlgorithm> = [.rs256]
    var keyRetention = Duration.seconds(3600)
    var recheckPause = Duration.zero
    /// What the paths of API calls are appended to, without a trailing slash; nil if there is no API.
    var apiBase: String?
    var apiHeaders: [Form.Field] = []
    /// The queries of API calls, by path.
    var apiQueries: [String: String] = [:]
    var apiProof = ProviderDefinition.APIProof.none
    var lookups: [GroupLookup] = []
    var admission: [AdmissionRule] = []
    var chains: [ProfileField: [ProfileStep]]
    var trust = EmailTrust()
}

extension CatalogEntry {
    /// The address of discovery below a base.
    ///
    /// OpenID Connect Discovery §4.
    static func discovery(below base: String) throws(Failure) -> ProviderDefinition.SignInProtocol {
        .openID(discovery: try self.address("\(base)/.well-known/openid-configuration"))
    }

    /// Discovery below the issuer that was configured, of which a trailing slash may be part.
    static func discovery(
        of settings: ProviderSettings
    ) throws(Failure) -> (issuer: String, signIn: ProviderDefinition.SignInProtocol) {
        guard let issuer = settings.issuer, let address = WebURL(issuer), address.query == nil else {
            throw Failure(.providerDefinition, "issuer: missing or no address")
        }
        return (issuer, try self.discovery(below: issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer))
    }

    /// A provider that is found by the issuer in the file, with the standard claims; what is special about its type, that
    /// type changes.
    static func found(by settings: ProviderSettings, brand: String) throws(Failure) -> CatalogEntry {
        let (issuer, signIn) = try self.discovery(of: settings)
        return CatalogEntry(
            brand: brand,
            signIn: signIn,
            issuer: .exact(issuer),
            scopes: ["openid", "profile", "email"],
            clientAuthentication: .advertised,
            // OpenID Connect Core §3.1.2.1: every provider knows `login`; where `select_account` is not known it is an error.
            accountChoice: Form.Field("prompt", "login"),
            reauthentication: Form.Field("prompt", "login"),
            chains: self.standardChains
        )
    }

    static func address(_ text: String) throws(Failure) -> WebURL {
        guard let address = WebURL(text) else {
            throw Failure(.providerDefinition, "this is not an https URL: \(text)")
        }
        return try self.checked(address)
    }

    /// The URL, if it uses https or is on loopback.
    static func checked(_ address: WebURL) throws(Failure) -> WebURL {
        guard address.origin.isSecure || address.origin.isLoopback else {
            throw Failure(.providerDefinition, "this is not an https URL: \(address)")
        }
        return address
    }

    /// A base address as text that paths can be appended to.
    static func base(_ address: WebURL?, else standard: String) -> String {
        guard var text = address?.description else { return standard }
        while text.hasSuffix("/") { text.removeLast() }
        return text
    }

    /// The base of the API: as configured, else the own server, else the public service.
    static func apiBase(_ settings: ProviderSettings, else standard: String) -> String {
        self.base(settings.apiURL, else: self.base(settings.baseURL, else: standard))
    }

    /// The version of the API, `v` and a number, of which it is a part of every address.
    static func version(_ settings: ProviderSettings, else standard: String) throws(Failure) -> String {
        guard let version = settings.apiVersion else { return standard }
        let digits = version.dropFirst().split(separator: ".", omittingEmptySubsequences: false)
        let isNumber = digits.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }
        guard version.hasPrefix("v"), (1...2).contains(digits.count), isNumber, version.utf8.count <= 16 else {
            throw Failure(.providerDefinition, "api_version: this is not a version such as \(standard)")
        }
        return version
    }

    /// The claim in the ID token, else the member of the userinfo response.
    static func claim(_ pointer: String) -> [ProfileStep] {
        [.claim(.idToken(pointer)), .claim(.userinfo(pointer))]
    }

    /// The standard claims of an OpenID Connect provider, from the ID token, else from userinfo.
    ///
    /// OpenID Connect Core §5.1.
    static var standardChains: [ProfileField: [ProfileStep]] {
        [
            .subject: [.claim(.idToken("/sub"))],
            .username: self.claim("/preferred_username") + self.claim("/nickname"),
            .name: self.claim("/name") + [
                .joined([.idToken("/given_name"), .idToken("/family_name")], separator: " ", all: false),
                .joined([.userinfo("/given_name"), .userinfo("/family_name")], separator: " ", all: false),
            ] + self.claim("/preferred_username"),
            .givenName: self.claim("/given_name"),
            .familyName: self.claim("/family_name"),
            .email: self.claim("/email"),
            .emailVerified: self.claim("/email_verified"),
            .picture: self.claim("/picture"),
            .locale: self.claim("/locale"),
            .groups: self.claim("/groups"),
            .authTime: [.claim(.idToken("/auth_time"))],
        ]
    }
}
