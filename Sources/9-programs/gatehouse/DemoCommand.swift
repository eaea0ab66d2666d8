// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Foundation
internal import GateCommandLine
internal import Glibc

struct DemoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Runs everything on this machine: simulated providers, a sample app, the gateway."
    )

    @Argument(parsing: .captureForPassthrough, help: "See 'gatehouse demo --help'.")
    var arguments: [String] = []

    func run() throws {
        try self.replaceProcess(with: "demo", self.arguments)
    }
}

struct SimulateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Runs one provider simulator with chosen quirks, for other test suites."
    )

    @Argument(parsing: .captureForPassthrough, help: "See 'gatehouse simulate --help'.")
    var arguments: [String] = []

    func run() throws {
        try self.replaceProcess(with: "simulate", self.arguments)
    }
}

extension ParsableCommand {
    /// Replaces this process by `gatehouse-demo` in the folder of `gatehouse`, so that signals and exit code are its own.
    ///
    /// - Throws: Exit code 1 if the program cannot be started.
    fileprivate func replaceProcess(with command: String, _ arguments: [String]) throws {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let path = (own as NSString).deletingLastPathComponent + "/gatehouse-demo"
        var words = unsafe ([path, command] + arguments).map { unsafe strdup($0) } + [nil]
        _ = unsafe execv(path, &words)
        let reason = unsafe String(cString: strerror(errno))
        printError("gatehouse: error: \(path) cannot be started: \(reason); install it beside gatehouse")
        throw ExitCode(1)
    }
}
