// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import GateCore
import Testing

@testable import gatehouse

/// What the command line accepts, and the message for what it does not accept.
@Suite struct CommandLineTests {
    /// The command that the arguments name.
    private func parsed<Command: ParsableCommand>(_ line: String, as type: Command.Type) throws -> Command {
        try #require(try GatehouseCommand.parseAsRoot(line.split(separator: " ").map(String.init)) as? Command)
    }

    /// The message of a command line that is rejected as wrong usage.
    private func rejection(_ line: String) -> String? {
        do {
            _ = try GatehouseCommand.parseAsRoot(line.split(separator: " ").map(String.init))
            return nil
        } catch {
            guard GatehouseCommand.exitCode(for: error) == .validationFailure else { return nil }
            return GatehouseCommand.message(for: error)
        }
    }

    @Test func `the configuration file is providers.yaml unless --config names another`() throws {
        #expect(try self.parsed("check", as: CheckCommand.self).file.config == "providers.yaml")
        #expect(try self.parsed("serve --config /etc/a.yaml", as: ServeCommand.self).file.config == "/etc/a.yaml")
    }

    @Test func `check asks the providers only with --online`() throws {
        #expect(try !self.parsed("check", as: CheckCommand.self).online)
        let online = try self.parsed("check --online --provider staff", as: CheckCommand.self)
        #expect(online.online && online.provider == "staff")
        #expect(self.rejection("check --provider staff") == "--provider needs --online")
    }

    @Test func `an id that an authenticator has chosen may begin with a dash`() throws {
        let command = try self.parsed("passkeys remove mock:ada --id -76hOtAyRoAG", as: RemovePasskeys.self)
        #expect(command.id == "-76hOtAyRoAG" && command.user == "mock:ada")
    }

    @Test func `schema prints one document at a time`() throws {
        #expect(try self.parsed("schema --errors", as: SchemaCommand.self).errors)
        #expect(
            self.rejection("schema --errors --metrics")
                == "use one of --reference, --errors, --metrics, --status and --texts"
        )
    }

    @Test func `pins looks at a host or at a provider of the file`() throws {
        #expect(try self.parsed("pins id.example.com:8443", as: PinsCommand.self).host == "id.example.com:8443")
        #expect(try self.parsed("pins --provider staff", as: PinsCommand.self).provider == "staff")
        for line in ["pins", "pins id.example.com --provider staff"] {
            #expect(self.rejection(line) == "name a host or a --provider", "\(line)")
        }
    }

    @Test func `explain takes an incident, and log files or standard input`() throws {
        let command = try self.parsed("explain kD3pZ0qLxV7w --log a.log b.log - --json", as: ExplainCommand.self)
        #expect(command.id == "kD3pZ0qLxV7w" && command.logs == ["a.log", "b.log", "-"] && command.json)
        for line in ["explain", "explain abc", #"explain a"bcdef"#, "explain \(String(repeating: "a", count: 201))"] {
            #expect(self.rejection(line) != nil, "\(line)")
        }
    }

    @Test(arguments: ["http://id.example.com", "ftp://id.example.com", "id.example.com:0"])
    func `pins takes a host or an https address`(host: String) {
        let message = "'\(host)' is neither a host such as id.example.com:8443 nor an https address"
        #expect(self.rejection("pins \(host)") == message)
    }

    @Test func `the proxy and the authority of a provider are in the file`() {
        for option in ["--ca-file a.pem", "--proxy http://proxy.example.com:3128"] {
            #expect(
                self.rejection("pins --provider staff \(option)")
                    == "--ca-file and --proxy are for a host; a provider's are in the file"
            )
        }
        #expect(
            self.rejection("pins id.example.com --proxy https://proxy.example.com") == "--proxy takes an http address"
        )
    }

    @Test func `import takes files, and options for the parts of oauth2-proxy's configuration`() throws {
        let line =
            "import a.cfg --alpha b.yaml --env c --flags d --emails e --public-url https://gate.example.com --from oauth2-proxy"
        let command = try self.parsed(line, as: ImportCommand.self)
        #expect((command.files, command.alpha, command.env, command.flags) == (["a.cfg"], ["b.yaml"], ["c"], ["d"]))
        #expect(self.rejection("import") == "name the files to import")
        #expect(self.rejection("import a --json") == "--force and --json need --output")
        let ofAuthelia = "import a --env b --from authelia"
        #expect(self.rejection(ofAuthelia) == "--alpha, --env, --flags and --emails are for oauth2-proxy")
        #expect(self.rejection("import a --public-url gate.example.com")?.hasPrefix("--public-url takes a URL") == true)
    }

    @Test func `profile needs a provider and a payload, or --table`() throws {
        #expect(try self.parsed("profile --table", as: ProfileCommand.self).table)
        #expect(try self.parsed("profile staff saved.json", as: ProfileCommand.self).payload == "saved.json")
        for line in ["profile", "profile staff"] {
            #expect(
                self.rejection(line) == "name a provider of the configuration file and a file with its responses",
                "\(line)"
            )
        }
    }

    @Test func `serve bounds the drain delay and knows its log levels`() throws {
        let serve = try self.parsed("serve --drain-delay 0 --log-level warning --listen-fds", as: ServeCommand.self)
        #expect(serve.drainDelay == 0 && serve.logLevel == "warning" && serve.listenFds)
        #expect(try self.parsed("serve", as: ServeCommand.self).drainDelay == nil)
        for delay in ["-1", "3601"] {
            #expect(self.rejection("serve --drain-delay=\(delay)") == "--drain-delay takes 0 to 3600 seconds")
        }
        #expect(self.rejection("serve --log-level loud") == "--log-level takes debug, info, warning or error")
    }

    @Test func `try takes a provider or a client`() throws {
        let command = try self.parsed(
            "try --client notes --redirect-uri com.example.notes:/cb",
            as: TryCommand.self
        )
        #expect(command.client == "notes" && command.redirectURI == "com.example.notes:/cb" && command.provider == nil)
        for line in ["try", "try staff --client notes"] {
            #expect(self.rejection(line) == "name a provider, or a client with --client")
        }
        #expect(self.rejection("try staff --redirect-uri x:/") == "--redirect-uri needs --client")
    }

    @Test func `try bounds its port, its time and its host`() throws {
        let command = try self.parsed("try staff --port 65535 --wait 3600 --host 127.0.0.1", as: TryCommand.self)
        #expect(command.provider == "staff" && command.port == 65_535 && command.wait == 3600)
        #expect(self.rejection("try staff --port 0") == "--port takes 1 to 65535")
        #expect(self.rejection("try staff --wait 3601") == "--wait takes 1 to 3600 seconds")
        #expect(self.rejection("try staff --host example.com") == "--host takes localhost or 127.0.0.1")
    }

    @Test func `demo and simulate pass all their arguments on`() throws {
        let demo = try self.parsed("demo --provider google --help", as: DemoCommand.self)
        #expect(demo.arguments == ["--provider", "google", "--help"])
        let simulator = try self.parsed("simulate github --port 9001 --quirk slow", as: SimulateCommand.self)
        #expect(simulator.arguments == ["github", "--port", "9001", "--quirk", "slow"])
    }

    @Test func `a command that does not exist yet is wrong usage`() {
        #expect(self.rejection("frob")?.contains("Unexpected argument 'frob'") == true)
    }

    @Test func `a revocation needs a selection, and all sessions are named as such`() throws {
        for arguments in [
            "", "--before 2026-01-01", "--all --user a:b", "--all id", "--host a --app b", "--all --before now",
        ] {
            #expect(self.rejection("sessions revoke \(arguments)") != nil, "\(arguments)")
        }
        let revoke = try self.parsed("sessions revoke --all --before 2026-01-01 --dry-run", as: RevokeSessions.self)
        #expect(revoke.selection.before?.instant == Instant(date: "2026-01-01") && revoke.dryRun)
        let time = try self.parsed("sessions list --before 2026-01-01T00:01:00Z", as: ListSessions.self)
        #expect(time.selection.before?.instant == Instant(date: "2026-01-01")?.advanced(by: .seconds(60)))
    }

    @Test func `a table is aligned, and escapes what a terminal would act on`() {
        var table = TextTable(["ID", "USER"])
        table.add(["a", nil])
        table.add(["long id", "a\u{1B}[2J"])
        #expect(table.lines == ["ID       USER", "a        -", "long id  a\\u{1B}[2J"])
    }
}
