// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateDiagnostics
internal import GateOpenID
internal import GateProviders

extension TryCommand {
    /// The profile, what was granted, and for how long.
    static func report(of found: TestSignIn.Findings, settings: ProviderSettings) -> String {
        let asked = (try? ProviderDefinition(settings))?.scopes ?? []
        let (signIn, tokens) = (found.signIn, found.tokens)
        var lines = [found.mapped.table, ""]
        lines.append("user key       \(signIn.profile.user)")
        lines.append("scopes         asked for \(self.list(asked)); granted \(self.granted(tokens.scopes))")
        lines.append("access token   \(self.lifetime(tokens.lifetime)), not shown")
        let idToken = signIn.idToken == nil ? "none" : "\(self.lifetime(tokens.idTokenLifetime)), verified, not shown"
        lines.append("ID token       \(idToken)")
        lines.append("sign-out       \(signIn.endSession ?? "the provider has no address for it")")
        lines += found.notes.map { "note           \($0)" }
        return lines.joined(separator: "\n")
    }

    /// Why it failed and what to change.
    static func report(of failure: Failure, settings: ProviderSettings, callback: String) -> String {
        """
        The sign-in failed: \(failure.code)
          what   \(failure.detail)
          next   \(self.advice(for: failure, settings, callback))
        """
    }

    private static func granted(_ scopes: [String]?) -> String {
        guard let scopes else { return "the same, since the provider does not return them" }
        return self.list(scopes)
    }

    private static func list(_ scopes: [String]) -> String { scopes.isEmpty ? "none" : scopes.joined(separator: " ") }

    private static func lifetime(_ lifetime: Duration?) -> String {
        lifetime.map { "lives \($0.wholeSeconds) s" } ?? "lifetime unknown"
    }

    /// The advice of the failure catalogue, or of this file where it depends on the settings.
    private static func advice(for failure: Failure, _ settings: ProviderSettings, _ callback: String) -> String {
        if failure.reason == .providerTLS, let file = settings.caFile {
            return "check that \(file) holds the authority that signed the provider's certificate"
        }
        // What the operator has set already cannot help.
        let isSet = failure.reason == .idTokenNonce && settings.nonce != nil
        return (isSet ? nil : failure.reason.entry.advice(settings.adviceValues(callback: callback)))
            ?? "docs/errors.md explains \(failure.code); 'gatehouse check --online' tests each part by itself"
    }
}
