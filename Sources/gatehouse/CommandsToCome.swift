// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser

/// A command of the contract that does nothing yet: it says so and exits with 2.
protocol CommandToCome: ParsableCommand {
    /// The name on the command line.
    static var name: String { get }
    /// What it will do.
    static var purpose: String { get }
    /// What the user typed behind the name.
    var arguments: [String] { get }
}

extension CommandToCome {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: self.name, abstract: "\(self.purpose) (not supported yet)")
    }

    func run() throws {
        throw ValidationError("gatehouse \(Self.name) is not supported yet")
    }
}

/// The command `gatehouse policy`.
struct PolicyCommand: CommandToCome {
    static let name = "policy"
    static let purpose = "Says what would be decided, and by which line."
    @Argument(parsing: .allUnrecognized) var arguments: [String] = []
}

/// The command `gatehouse keys`.
struct KeysCommand: CommandToCome {
    static let name = "keys"
    static let purpose = "Lists or rotates the signing keys."
    @Argument(parsing: .allUnrecognized) var arguments: [String] = []
}

/// The command `gatehouse sessions`.
struct SessionsCommand: CommandToCome {
    static let name = "sessions"
    static let purpose = "Lists or revokes sessions."
    @Argument(parsing: .allUnrecognized) var arguments: [String] = []
}

/// The command `gatehouse health`.
struct HealthCommand: CommandToCome {
    static let name = "health"
    static let purpose = "Exits with 0 or 1, for container probes."
    @Argument(parsing: .allUnrecognized) var arguments: [String] = []
}
