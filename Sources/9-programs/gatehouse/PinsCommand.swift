// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import GateCommandLine
internal import GateCore
internal import GateDiagnostics

struct PinsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pins",
        abstract: "Shows the certificates of a host or provider with their pins, and the lines to paste.",
        discussion: """
            The chain is verified first; one that is not trusted is not shown. With --provider all hosts that the gateway \
            calls for it are asked, and the pins of the file are compared; exits with 1 if one does not match.
            """
    )

    @Argument(help: "A host, with a port unless it is 443, or an https address.")
    var host: String?

    @Option(help: ArgumentHelp("Look at this provider of the configuration file.", valueName: "name"))
    var provider: String?

    @OptionGroup var file: ConfigurationOption

    @Option(help: "With a host: a PEM file with the only certificates to trust.")
    var caFile: String?

    @Option(help: "With a host: the http proxy to go through, such as http://proxy.example.com:3128.")
    var proxy: String?

    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        guard (self.host == nil) != (self.provider == nil) else {
            throw ValidationError("name a host or a --provider")
        }
        guard self.provider == nil || (self.caFile == nil && self.proxy == nil) else {
            throw ValidationError("--ca-file and --proxy are for a host; a provider's are in the file")
        }
        if let host { _ = try self.origin(of: host) }
        guard self.proxy.map({ WebURL($0)?.origin.scheme == "http" }) ?? true else {
            throw ValidationError("--proxy takes an http address")
        }
    }

    private func origin(of text: String) throws -> Origin {
        let address = text.contains("://") ? text : "https://\(text)"
        guard let origin = WebURL(address)?.origin, origin.isSecure else {
            throw ValidationError("'\(text)' is neither a host such as id.example.com:8443 nor an https address")
        }
        return origin
    }

    func run() async throws {
        let inspection: PinInspection
        do {
            inspection = try await self.inspection()
        } catch let failure as Failure {
            printError("gatehouse: error: \(failure.code): \(failure.detail)")
            throw ExitCode(1)
        }
        printLine(self.json ? inspection.json.pretty() : inspection.text(now: WallClock.system.now))
        guard !inspection.isGood else { return }
        if self.host != nil, self.caFile == nil { printError("gatehouse: a private authority is named with --ca-file") }
        throw ExitCode(1)
    }

    private func inspection() async throws -> PinInspection {
        guard let host else { return try await PinInspection.of(try self.file.provider(named: self.provider ?? "")) }
        let proxy = self.proxy.flatMap { WebURL($0) }
        return try await PinInspection.of(try self.origin(of: host), caFile: self.caFile, proxy: proxy)
    }
}
