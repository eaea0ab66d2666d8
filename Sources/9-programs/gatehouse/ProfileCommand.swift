// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Foundation
internal import GateCommandLine
internal import GateConfiguration
internal import GateCore
internal import GateProviders

struct ProfileCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "profile",
        abstract: "Runs a provider's mapping over a saved payload, and prints the source of each field.",
        discussion: """
            FILE holds JSON: an object of the provider's responses, each of which may be missing.

              { "id_token": {…}, "userinfo": {…}, "api": { "/user": {…} }, "callback": {…}, "groups": […] }

            'id_token' may also be the token itself; its signature is not checked. '-' reads standard input.
            """
    )

    @OptionGroup var file: ConfigurationOption

    @Flag(help: "Print the table of all types and fields of the catalogue instead, as Markdown.")
    var table = false

    @Argument(help: "The provider's name in the configuration file.")
    var provider: String?

    @Argument(help: "The saved payload.")
    var payload: String?

    func validate() throws {
        guard self.table || (self.provider != nil && self.payload != nil) else {
            throw ValidationError("name a provider of the configuration file and a file with its responses")
        }
    }

    func run() throws {
        guard !self.table else { return commandOutput.write(ProviderType.profileTables) }
        let settings = try self.file.provider(named: self.provider ?? "")
        do throws(Failure) {
            let payloads = try ProviderPayloads(saved: try SavedJSON.read(self.payload ?? "", for: .profilePayload))
            let definition = try ProviderDefinition(settings)
            try ProfileCommand.check(payloads, of: definition)
            printLine(try definition.profile(from: payloads).table)
        } catch {
            printError("gatehouse: error: \(error.code): \(error.detail)")
            throw ExitCode(1)
        }
    }

    /// A token of another issuer, or of a tenant that may not sign in, makes no profile at a sign-in either.
    ///
    /// Only the provider's metadata name the tenant of a domain, so the tenant is not checked here.
    private static func check(_ payloads: ProviderPayloads, of definition: ProviderDefinition) throws(Failure) {
        guard let claims = payloads.idToken, let issuer = claims["iss"]?.string else { return }
        switch definition.issuer.verdict(on: claims, discovered: issuer) {
        case .accepted: return
        case .foreign:
            throw Failure(.idTokenIssuer, "the token is of another issuer than the provider's")
        case .tenantRefused:
            throw Failure(.providerTenant, "users of the token's tenant may not sign in")
        }
    }
}

extension MappedProfile {
    /// The profile as a table for the terminal.
    var table: String {
        let rows = [("field", "value", "source")] + self.rows.map { ($0.field, $0.value ?? "-", $0.source ?? "-") }
        let first = rows.map(\.0.count).max() ?? 0
        let second = min(rows.map(\.1.count).max() ?? 0, 60)
        return rows.map { field, value, source in
            "\(Self.padded(field, first))  \(Self.padded(value, second))  \(source)"
        }.joined(separator: "\n")
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
