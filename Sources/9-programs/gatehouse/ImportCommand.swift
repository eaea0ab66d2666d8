// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Foundation
internal import GateCommandLine
internal import GateCore
internal import GateImport
internal import GateOperations

struct ImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Writes providers.yaml from a configuration of oauth2-proxy, mod_auth_openidc, Authelia or Pomerium.",
        discussion: """
            Prints the file, or writes it with --output, and lists on standard error what it could not carry over, with the \
            line of each. No secret is copied: the file names environment variables for them. Whatever may narrow access and \
            is not carried over denies the app. The exit code is 0, or 3 if an app is denied to all users.

            A configuration of oauth2-proxy may have several files, which are read together:

              gatehouse import oauth2-proxy.cfg --alpha alpha.yaml --env oauth2-proxy.env --flags compose.yaml
            """
    )

    @Argument(help: "The files; '-' reads standard input.")
    var files: [String] = []

    @Option(help: ArgumentHelp("The product, if its files do not show it: \(Self.formats).", valueName: "product"))
    var from: ImportFormat?

    @Option(help: ArgumentHelp("oauth2-proxy's alpha configuration.", valueName: "file"))
    var alpha: [String] = []

    @Option(help: ArgumentHelp("A file with OAUTH2_PROXY_… variables.", valueName: "file"))
    var env: [String] = []

    @Option(
        help: ArgumentHelp(
            "A file with flags of oauth2-proxy: a script, a unit, a compose file, a manifest.",
            valueName: "file"
        )
    )
    var flags: [String] = []

    @Option(help: ArgumentHelp("The file that oauth2-proxy's authenticated_emails_file names.", valueName: "file"))
    var emails: [String] = []

    @Option(help: ArgumentHelp("The URL of the sign-in page, if it differs from that of the source.", valueName: "url"))
    var publicURL: String?

    @Option(help: ArgumentHelp("Write the configuration to this file instead of standard output.", valueName: "file"))
    var output: String?

    @Flag(help: "Replace the file of --output if it exists.")
    var force = false

    @Flag(help: "With --output, print the notes as JSON to standard output.")
    var json = false

    private static let formats = ImportFormat.allCases.map(\.rawValue).joined(separator: ", ")

    func validate() throws {
        let parts = self.alpha + self.env + self.flags + self.emails
        guard !(self.files + parts).isEmpty else { throw ValidationError("name the files to import") }
        guard (self.files + parts).count <= ImportFile.maxFiles else {
            throw ValidationError("an import takes \(ImportFile.maxFiles) files at most")
        }
        guard parts.isEmpty || self.from == nil || self.from == .oauth2Proxy else {
            throw ValidationError("--alpha, --env, --flags and --emails are for oauth2-proxy")
        }
        guard self.output != nil || (!self.force && !self.json) else {
            throw ValidationError("--force and --json need --output")
        }
        guard self.publicURL.map({ WebURL($0)?.path == "/" }) ?? true else {
            throw ValidationError("--public-url takes a URL without a path, such as https://gate.example.com")
        }
    }

    /// The exit code for a file with an app that no user can open until its rules are written.
    private static let incomplete = ExitCode(3)

    func run() throws {
        var denied = 0
        do throws(ImportFailure) {
            let url = self.publicURL.flatMap { WebURL($0) }?.origin
            let result = try ConfigurationImport.result(of: try self.sources, format: self.from, publicURL: url)
            try self.write(result.yaml)
            self.report(result)
            denied = result.deniedApps
        } catch {
            printError(error.rendered)
            throw ExitCode(1)
        }
        guard denied > 0 else { return }
        printError(
            "gatehouse: \(denied) app\(denied == 1 ? " is" : "s are") denied to all users until you write the rules"
        )
        throw Self.incomplete
    }

    private var sources: [ImportFile] {
        get throws(ImportFailure) {
            let named: [(ImportFile.Kind, [String])] = [
                (.automatic, self.files), (.alpha, self.alpha), (.environment, self.env), (.flags, self.flags),
                (.emails, self.emails),
            ]
            var sources: [ImportFile] = []
            for (kind, names) in named {
                for name in names {
                    sources.append(ImportFile(name: name, kind: kind, bytes: try self.content(of: name)))
                }
            }
            return sources
        }
    }

    private func content(of name: String) throws(ImportFailure) -> [UInt8] {
        let path = name == "-" ? "/dev/stdin" : name
        switch FileAccess.system.read(path, limit: ImportFile.maxSize) {
        case .bytes(let bytes): return bytes
        case .missing: throw ImportFailure("there is no file '\(PrintableText.escaped(name))'")
        case .unreadable:
            throw ImportFailure("the file '\(PrintableText.escaped(name))' cannot be read; check its owner and mode")
        case .tooLarge: throw ImportFailure("the file '\(PrintableText.escaped(name))' is larger than 1 MiB")
        }
    }

    private func write(_ yaml: String) throws(ImportFailure) {
        guard let output else { return commandOutput.write(yaml) }
        let options: Data.WritingOptions = self.force ? .atomic : .withoutOverwriting
        do {
            try Data(yaml.utf8).write(to: URL(fileURLWithPath: output), options: options)
        } catch CocoaError.fileWriteFileExists {
            throw ImportFailure("'\(PrintableText.escaped(output))' exists already; --force replaces it")
        } catch {
            throw ImportFailure(
                "'\(PrintableText.escaped(output))' cannot be written; check the folder, its owner and mode"
            )
        }
    }

    private func report(_ result: ImportResult) {
        if self.json {
            printLine(JSON.object(["notes": .array(result.notes.map(\.json))]).pretty())
        } else {
            for note in result.notes { printError(note.rendered) }
        }
        guard let output, !self.json else { return }
        printError(
            "gatehouse: wrote \(PrintableText.escaped(output)); next: gatehouse check --config \(PrintableText.escaped(output))"
        )
    }
}

extension ImportFormat: ExpressibleByArgument {}
