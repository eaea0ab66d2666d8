// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Foundation
internal import GateCommandLine
internal import GateConfiguration
internal import GateCore
internal import GateDiagnostics
internal import GateOperations

struct ExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Explains an incident: the request, the user, the rule, what failed, and what to do.",
        discussion: """
            An incident is the word that an error page shows; the id of a request (X-Request-Id) works as well. Asks the \
            running gateway through its Unix socket, as the same user or as root, and reads the log files that the \
            configuration names. Exits with 1 if nothing is found. With --log, other log files are read and the gateway \
            does not have to run:

              gatehouse explain kD3pZ0qLxV7w --log /var/log/gatehouse/*.log
              zcat access.log.2.gz | gatehouse explain kD3pZ0qLxV7w --log -
            """
    )

    @Argument(help: "The incident, or the id of a request.")
    var id: String

    @Option(
        name: .customLong("log"),
        parsing: .upToNextOption,
        help: ArgumentHelp("Log files to read, JSON or text; '-' is standard input.", valueName: "file")
    )
    var logs: [String] = []

    @OptionGroup var gateway: OperationsOption

    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        let isPlain = self.id.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
        guard (4...200).contains(self.id.utf8.count), isPlain else {
            throw ValidationError("an incident or the id of a request has 4 to 200 characters, without spaces")
        }
        guard self.logs.count <= 1000 else { throw ValidationError("more than 1000 log files") }
    }

    func run() throws {
        let file = self.gateway.file.config
        let result = Configuration.load(path: file, environment: ProcessInfo.processInfo.environment)
        let configuration = result.configuration
        var report = IncidentReport(about: self.id, configuration: configuration, file: configuration.map { _ in file })
        if configuration == nil {
            report.add(failure: self.failure(of: result, file), of: "the configuration \(file)")
        }
        self.askGateway(for: &report)
        let sources = self.sources(configuration)
        if !sources.isEmpty { report.add(LogFileSearch(for: self.id, in: sources)) }
        for (stream, place) in self.otherPlaces(configuration) { report.add(failure: place, of: stream) }
        printLine(self.json ? report.json.pretty() : report.text)
        guard report.isFound else { throw ExitCode(1) }
    }

    private func failure(of result: ConfigurationResult, _ file: String) -> String {
        let first = result.diagnostics.first { $0.severity == .error }?.rendered.split(separator: "\n").first
        return "not used: \(first.map(String.init) ?? "it has errors"); 'gatehouse check --config \(file)' lists all"
    }

    private func askGateway(for report: inout IncidentReport) {
        guard let path = self.gateway.socket ?? self.gateway.file.operationsPlace.socket else {
            return report.add(failure: "not asked: 'operations_socket' is off", of: "the running gateway")
        }
        do throws(Failure) {
            let found = try OperationsClient(socket: path).get("/v1/incidents", [("id", self.id)])
            report.add(gateway: found, at: path)
        } catch {
            report.add(failure: error.detail, of: "the running gateway")
        }
    }

    /// The files to read: those that are named, else those of the configuration with their predecessors.
    private func sources(_ configuration: Configuration?) -> [LogFileSearch.Source] {
        guard self.logs.isEmpty else {
            return self.logs.map { $0 == "-" ? .standardInput : .file($0) }
        }
        var paths: [String] = []
        for stream in LogStream.allCases {
            guard case .file(let path)? = configuration?.logs[stream], !paths.contains(path) else { continue }
            paths.append(path)
            let rotated = "\(path).1"
            if FileManager.default.fileExists(atPath: rotated) { paths.append(rotated) }
        }
        return paths.map { .file($0) }
    }

    /// The streams of the log that are not in files, and how they can be read.
    private func otherPlaces(_ configuration: Configuration?) -> [(stream: String, place: String)] {
        guard self.logs.isEmpty, let configuration else { return [] }
        return LogStream.allCases.compactMap { stream in
            let place: String? =
                switch configuration.logs[stream] {
                case .off: "off, see 'logs.\(stream.rawValue)'"
                case .file: nil
                case .standardOutput, .standardError, .journald:
                    "not in a file; under systemd: "
                        + "journalctl -t gatehouse -o cat | gatehouse explain \(self.id) --log -"
                case .syslog: "with the syslog daemon; name its file with --log"
                }
            return place.map { ("the log stream \(stream.rawValue)", $0) }
        }
    }
}
