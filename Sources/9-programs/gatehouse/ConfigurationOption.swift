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
    @Option(
        name: .customLong("config"),
        help: ArgumentHelp(
            """
            The configuration file. (default: providers.yaml if it exists, else $GATEHOUSE_CONFIG, else \
            /etc/gatehouse/providers.yaml)
            """,
            valueName: "config"
        )
    )
    var chosen: String?

    /// The path of the configuration file.
    var config: String {
        Self.path(
            chosen: self.chosen,
            environment: ProcessInfo.processInfo.environment,
            exists: FileManager.default.fileExists(atPath:)
        )
    }

    /// The path that is chosen, else that of the first file which exists.
    ///
    /// Without any file it is the first of them, so that a message names what a user of a clone expects.
    static func path(chosen: String?, environment: [String: String], exists: (String) -> Bool) -> String {
        if let chosen { return chosen }
        let nearest = "providers.yaml"
        if exists(nearest) { return nearest }
        if let named = environment["GATEHOUSE_CONFIG"], !named.isEmpty { return named }
        let installed = "/etc/gatehouse/providers.yaml"
        return exists(installed) ? installed : nearest
    }

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

    /// Where the running gateway can be asked by the file, also if that has errors.
    var operationsPlace: OperationsPlace {
        OperationsPlace(path: self.config, environment: ProcessInfo.processInfo.environment)
    }

    /// The settings of one provider of the file.
    ///
    /// - Throws: Exit code 1 if the file cannot be used or has no such provider.
    func provider(named name: String) throws -> ProviderSettings {
        let providers = try self.load().configuration?.servers ?? []
        guard let settings = providers.first(where: { $0.id == name }) else {
            let names = providers.map(\.id).joined(separator: ", ")
            printError("gatehouse: error: \(self.config) has no provider '\(name)'; it has \(names)")
            throw ExitCode(1)
        }
        return settings
    }
}
