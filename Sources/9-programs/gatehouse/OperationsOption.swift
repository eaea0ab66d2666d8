// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import GateCommandLine
internal import GateConfiguration
internal import GateCore
internal import GateOperations

/// The options by which a command finds the running gateway.
struct OperationsOption: ParsableArguments {
    @OptionGroup var file: ConfigurationOption

    @Option(
        help: ArgumentHelp(
            "The Unix socket of the gateway; without it, the one of the configuration file.",
            valueName: "path"
        )
    )
    var socket: String?

    /// Calls `body` with a client of the gateway.
    ///
    /// The configuration file only has to name the socket: the running gateway ignores one with errors.
    ///
    /// - Throws: Exit code 1 when the gateway cannot be reached or rejects a request, after a message.
    func perform(_ body: (OperationsClient) throws(Failure) -> Void) throws {
        let place = self.file.operationsPlace
        guard let path = self.socket ?? place.socket else {
            printError("gatehouse: error: 'operations_socket' is off in \(self.file.config); the gateway has no socket")
            throw ExitCode(1)
        }
        do throws(Failure) {
            try body(OperationsClient(socket: path))
        } catch {
            printError("gatehouse: error: \(error.code): \(error.detail)")
            if self.socket == nil, error.reason == .operationsUnreachable {
                place.failure.map { printError("gatehouse: \($0), so this is the default socket") }
            }
            throw ExitCode(1)
        }
    }
}

/// Columns of text, aligned.
struct TextTable {
    private var rows: [[String]]

    init(_ titles: [String]) {
        self.rows = [titles]
    }

    /// Adds a row; text that a terminal would act on is escaped, and cut after `limit` characters.
    mutating func add(_ cells: [String?], limit: Int = 120) {
        self.rows.append(cells.map { PrintableText.escaped($0 ?? "-", limit: limit) })
    }

    /// The lines, without spaces at their ends.
    var lines: [String] {
        let widths = self.rows.reduce(into: [Int]()) { widths, row in
            for (column, cell) in row.enumerated() {
                if column == widths.count { widths.append(0) }
                widths[column] = max(widths[column], cell.count)
            }
        }
        return self.rows.map { row in
            let cells = row.enumerated().map { column, cell in
                column == row.count - 1 ? cell : cell + String(repeating: " ", count: widths[column] - cell.count)
            }
            return cells.joined(separator: "  ")
        }
    }
}
