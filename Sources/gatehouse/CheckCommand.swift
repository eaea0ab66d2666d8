// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import GateConfiguration

/// The command `gatehouse check`.
struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Reads and checks the configuration file; exits with 1 if it cannot be used."
    )

    @OptionGroup var file: ConfigurationOption

    @Flag(help: "Also ask the providers; not supported yet.")
    var online = false

    func validate() throws {
        guard !self.online else { throw ValidationError("check --online is not supported yet") }
    }

    func run() throws {
        guard let configuration = try self.file.load().configuration else { throw ExitCode(1) }
        let providers = count(configuration.providers.count, "provider")
        print("\(self.file.config) is usable: \(providers), \(count(configuration.apps.count, "app"))")
    }

    private func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
}

/// The command `gatehouse schema`.
struct SchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Prints the JSON Schema of the configuration file."
    )

    @Flag(help: "Print the reference table of all keys as Markdown instead.")
    var reference = false

    func run() throws {
        print(self.reference ? ConfigurationDocuments.reference : ConfigurationDocuments.schema, terminator: "")
    }
}
