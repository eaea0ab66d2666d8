// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension ProviderType {
    /// Sign in with Apple.
    ///
    /// The secret is a JWT that we sign. With the scopes `name` and `email` the browser must be sent back by a form, and
    /// the name is in that form at the first sign-in only, not signed. Flags are texts or booleans.
    /// https://developer.apple.com/documentation/sign_in_with_apple
    package static let apple = ProviderType(
        "apple",
        title: "Apple",
        settings: ProviderSetting.openID.union([.baseURL]),
        required: [.teamID, .keyID, .privateKey],
        redirects: .secureOnly,
        acceptsAnyAccount: { _ in true },
        entry: CatalogEntry.apple
    )
}

extension CatalogEntry {
    fileprivate static func apple(_ settings: ProviderSettings) throws(Failure) -> CatalogEntry {
        let base = self.base(settings.baseURL, else: "https://appleid.apple.com")
        let scopes = settings.scopes ?? ["name", "email"]
        guard settings.responseMode != .query || !scopes.contains(where: ["name", "email"].contains) else {
            let detail = "Apple sends name and email by form_post only; remove response_mode, or ask for neither scope"
            throw Failure(.providerDefinition, detail)
        }
        return CatalogEntry(
            brand: "Apple",
            signIn: try self.discovery(below: base),
            issuer: .exact(base),
            scopes: ["openid", "name", "email"],
            clientAuthentication: .signedSecret,
            responseMode: .formPost,
            // It ends the user's association with the app.
            revokesTokens: false,
            // A refresh token may be verified once a day; more may be throttled.
            // https://developer.apple.com/documentation/signinwithapplerestapi/verifying-a-user
            recheckPause: .seconds(86_400),
            chains: self.appleChains
        )
    }

    private static var appleChains: [ProfileField: [ProfileStep]] {
        let first = ClaimSource.callback("/user/name/firstName")
        let last = ClaimSource.callback("/user/name/lastName")
        return [
            .subject: [.claim(.idToken("/sub"))],
            .name: [.joined([first, last], separator: " ", all: false), .claim(.idToken("/email"))],
            .givenName: [.claim(first)],
            .familyName: [.claim(last)],
            .email: [.claim(.idToken("/email"))],
            .emailVerified: [.claim(.idToken("/email_verified"))],
            .authTime: [.claim(.idToken("/auth_time"))],
        ]
    }
}
