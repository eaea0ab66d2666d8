// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Dispatch
internal import Foundation
internal import GateCommandLine
internal import GateOperations
internal import GateServer

/// The program `gatehouse-demo`.
@main
struct DemoProgram {
    static func main() async {
        await RootCommand.runProgram()
    }
}

/// The command line: `gatehouse-demo demo` and `gatehouse-demo simulate`.
struct RootCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gatehouse-demo",
        abstract: "Simulated providers and a sample app, all on this machine.",
        subcommands: [DemoCommand.self, SimulateCommand.self]
    )
}

/// A folder for the files of one run.
struct RunFolder {
    let path: String
    /// Whether the folder is removed at the end.
    private let isTemporary: Bool

    /// The named folder, which is kept, or a new one, which is removed at the end.
    init(_ path: String? = nil) {
        let name = "gatehouse-demo-\(ProcessInfo.processInfo.processIdentifier)"
        self.path = path ?? NSTemporaryDirectory() + name
        self.isTemporary = path == nil
    }

    /// Removes the folder if it is temporary.
    func remove() {
        guard self.isTemporary else { return }
        try? FileManager.default.removeItem(atPath: self.path)
    }

    /// Ends the process at SIGINT and SIGTERM, after removing the folder, until the sources are canceled.
    ///
    /// Nothing drains, as all clients are on this machine.
    func exitOnSignal() -> [any DispatchSourceSignal] {
        [SIGINT, SIGTERM].map { (number: Int32) -> any DispatchSourceSignal in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler {
                self.remove()
                logRouter.flush()
                Foundation.exit(0)
            }
            source.resume()
            return source
        }
    }
}
