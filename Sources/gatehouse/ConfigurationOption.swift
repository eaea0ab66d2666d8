// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Foundation
internal import GateCommandLine
internal import GateConfiguration
internal import GateCore
internal import GateOperations
internal import GateProviders

/// The option that names the configuration file.
struct ConfigurationOption: ParsableArguments {
    @Option(name: .long, help: "The configuration file.")
    var config = "providers.yaml"

    /// Reads the file and shows its diagnostics.
    ///
    /// - Parameter show: Where diagnostics go, standard error by default.
    /// - Returns: The result, which has a configuration.
    /// - Throws: Exit code 1 if the file cannot be used.
    func load(show: ([Diagnostic]) -> Void = show) throws -> ConfigurationResult {
        let result = Configuration.load(path: self.config, environment: ProcessInfo.processInfo.environment)
        show(result.diagnostics)
        guard result.configuration != nil else { throw ExitCode(1) }
        return result
    }

    /// The settings of one provider of the file.
    ///
    /// - Throws: Exit code 1 if the file cannot be used or has no such provider.
    func provider(named name: String) throws -> ProviderSettings {
        let providers = try self.load().configuration?.providers ?? []
        guard let settings = providers.first(where: { $0.id == name }) else {
            let names = providers.map(\.id).joined(separator: ", ")
            printError("gatehouse: error: \(self.config) has no provider '\(name)'; it has \(names)")
            throw ExitCode(1)
        }
        return settings
    }
}
