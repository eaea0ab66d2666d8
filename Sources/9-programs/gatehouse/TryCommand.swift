// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import GateClients
internal import GateCommandLine
internal import GateConfiguration
internal import GateCore
internal import GateDiagnostics
internal import GateOpenID
internal import GateProviders

struct TryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "try",
        abstract: "Signs in with a provider once and prints the profile, with the source of each field.",
        discussion: """
            Opens a port on this machine for the callback; register the address that is printed at the provider first. No
            session begins, nothing is kept, and no token is shown.

            With --client it walks through the flow of a client of the file at the running gateway, from the metadata to the
            revocation of the tokens, and prints each request and response with secrets masked.
            """
    )

    @OptionGroup var file: ConfigurationOption

    @Argument(help: "The provider's name in the configuration file.")
    var provider: String?

    @Option(help: "The name of a client in the configuration file, whose flow to walk through instead.")
    var client: String?

    @Option(help: "With --client: the redirect URI to use. (default: one on loopback, else the first)")
    var redirectURI: String?

    @Option(help: "The port of the callback.")
    var port = 8765

    @Option(help: "The name of this machine in the callback: localhost or 127.0.0.1, as the provider wants it.")
    var host = "localhost"

    @Option(help: "Seconds to wait for the browser to come back.")
    var wait = 300

    func validate() throws {
        guard (self.provider == nil) != (self.client == nil) else {
            throw ValidationError("name a provider, or a client with --client")
        }
        guard self.redirectURI == nil || self.client != nil else {
            throw ValidationError("--redirect-uri needs --client")
        }
        guard (1...65_535).contains(self.port) else { throw ValidationError("--port takes 1 to 65535") }
        guard (1...3600).contains(self.wait) else { throw ValidationError("--wait takes 1 to 3600 seconds") }
        guard ["localhost", "127.0.0.1"].contains(self.host) else {
            throw ValidationError("--host takes localhost or 127.0.0.1")
        }
    }

    func run() async throws {
        if let client { return try await self.walk(through: client) }
        guard let provider else { return }
        let settings = try self.file.provider(named: provider)
        let test: TestSignIn
        do throws(Failure) {
            test = try await TestSignIn.begin(settings, host: self.host, port: self.port)
        } catch {
            let advice = error.reason == .listenerBind ? "; choose another port with --port" : ""
            printError("gatehouse: error: \(error.code): \(error.detail)\(advice)")
            throw ExitCode(1)
        }
        printLine(
            """
            Open this address in a browser and sign in:

                \(test.address)

            The provider must have this callback registered: \(test.callback)
            """
        )
        // Without the URL there is nothing to wait for.
        guard commandOutput.isComplete else { throw ExitCode(1) }
        switch await test.outcome(within: .seconds(self.wait)) {
        case .signedIn(let found):
            printLine("\n\(Self.report(of: found, settings: settings))")
        case .failed(let failure):
            printError("\n\(Self.report(of: failure, settings: settings, callback: test.callback))")
            throw ExitCode(1)
        case .timedOut:
            printError(
                "\ngatehouse: error: the browser did not come back within \(self.wait) s; if the provider showed an error page, "
                    + "compare the callback above with what is registered there"
            )
            throw ExitCode(1)
        }
    }
}

extension TryCommand {
    /// Walks through the flow of a client at the running gateway.
    ///
    /// - Throws: Exit code 1 if the file has no such client, or a step fails.
    private func walk(through name: String) async throws {
        let configuration = try self.file.load().configuration
        guard let configuration, let client = configuration.clients.first(where: { $0.id == name }) else {
            let names = configuration?.clients.map(\.id).joined(separator: ", ") ?? ""
            let known = names.isEmpty ? "no 'clients'" : names
            printError("gatehouse: error: \(self.file.config) has no client '\(name)'; it has \(known)")
            throw ExitCode(1)
        }
        do throws(ClientFlowFailure) {
            let flow = try TestClientFlow(
                of: client,
                at: configuration.gateway.publicURL,
                redirectingTo: self.redirectURI,
                port: self.port,
                show: printLine
            )
            try await flow.run(within: .seconds(self.wait)) { readLine() }
        } catch {
            printError("\nThe flow of \(name) failed.\n  what   \(error.what)\n  next   \(error.next)")
            throw ExitCode(1)
        }
    }
}
