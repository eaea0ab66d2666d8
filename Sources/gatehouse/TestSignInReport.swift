// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateOpenID
internal import GateProviders

/// What a test sign-in prints.
enum TestSignInReport {
    /// The profile, what was granted, and for how long.
    static func text(of signIn: SignIn, settings: ProviderSettings) -> String {
        let asked = (try? ProviderDefinition(settings))?.scopes ?? []
        var lines = [ProfileRows.text(of: signIn.mapped), ""]
        lines.append("user key       \(signIn.profile.user)")
        lines.append("scopes         asked for \(self.list(asked)); granted \(self.granted(signIn))")
        lines.append("access token   \(self.lifetime(signIn.accessTokenLifetime)), not shown")
        let idToken = signIn.idToken == nil ? "none" : "\(self.lifetime(signIn.idTokenLifetime)), verified, not shown"
        lines.append("ID token       \(idToken)")
        let signOut = signIn.endSessionEndpoint.map { "\($0)" }
        lines.append("sign-out       \(signOut ?? "the provider has no address for it")")
        lines += signIn.notes.map { "note           \($0)" }
        return lines.joined(separator: "\n")
    }

    /// Why it failed and what to change.
    static func text(of failure: Failure, settings: ProviderSettings, callback: String) -> String {
        """
        The sign-in failed: \(failure.code)
          what   \(failure.detail)
          next   \(self.advice(for: failure, settings, callback))
        """
    }

    private static func granted(_ signIn: SignIn) -> String {
        guard let scopes = signIn.grantedScopes else { return "the same, since the provider does not return them" }
        return self.list(scopes)
    }

    private static func list(_ scopes: [String]) -> String { scopes.isEmpty ? "none" : scopes.joined(separator: " ") }

    private static func lifetime(_ lifetime: Duration?) -> String {
        lifetime.map { "lives \($0.components.seconds) s" } ?? "lifetime unknown"
    }

    private static func advice(for failure: Failure, _ settings: ProviderSettings, _ callback: String) -> String {
        let section = "providers.\(settings.id)"
        return switch failure.code {
        case "provider.private_key":
            "make a key that the provider takes, and name its PEM file in \(section).private_key"
        case "openid.client_authentication":
            "set client_authentication in \(section) to one that the provider offers; 'gatehouse check --online' lists them"
        case "openid.client_refused":
            "compare client_id and client_secret in \(section) with the registration at the provider; a secret may have "
                + "expired there"
        case "openid.code_refused":
            "compare the registered callback with \(callback), letter by letter; a code works once and for minutes"
        case "openid.issuer_mismatch":
            "write the issuer into \(section).issuer exactly as the provider's discovery document spells it"
        case "openid.issuer_missing":
            "remove require_iss from \(section), unless the provider is known to send iss"
        case "openid.metadata":
            "look at the provider's discovery document; 'gatehouse check --online' names what is missing"
        case "openid.id_token_missing":
            "the scope 'openid' must be asked for in \(section).scopes and allowed at the provider"
        case "provider.denied":
            "the user refused, or an administrator has to allow the app at the provider first"
        case "provider.hosted_domain":
            "sign in with an account of \(settings.hostedDomains.joined(separator: ", ")), or change hosted_domains"
        case "provider.tenant":
            "sign in with an account of the tenant in \(section), or change tenant or tenants"
        case "provider.workspace":
            "sign in with an account of \(settings.workspaces.joined(separator: ", ")), or change workspaces"
        case "provider.subject":
            "the profile needs an id: see \(section).profile.subject, and 'gatehouse profile' to try it on saved responses"
        case "id_token.nonce" where settings.nonce == nil:
            "if the provider never sends the nonce back, set nonce: if_present in \(section)"
        case "id_token.algorithm":
            "change what is named above, here in \(section).id_token_algorithms or at the provider"
        case "id_token.encrypted":
            "turn the encryption of ID tokens off for this client at the provider; the gateway reads signed ones only"
        case "id_token.audience":
            "compare client_id in \(section) with the registration; list others that are in the audience in "
                + "\(section).trusted_audiences"
        case "id_token.lifetime":
            "let \(section).id_token_lifetime be as long as the provider's ID tokens live"
        case let code where code.hasPrefix("id_token."):
            "the provider sent a token that must not be trusted; docs/errors.md explains \(code)"
        case "provider.tls" where settings.caFile != nil:
            "look whether \(settings.caFile ?? "") holds the authority that signed the provider's certificate"
        case "provider.tls":
            "with a private certificate authority set tls.ca_file in \(section)"
        default:
            "docs/errors.md explains \(failure.code); 'gatehouse check --online' tests each part by itself"
        }
    }
}
