// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Foundation
internal import GateCommandLine
internal import GateCore
internal import GateOperations

/// The command `gatehouse users import`.
struct ImportAccounts: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Adds the local accounts of a file: CSV with a header line, or JSON lines.",
        discussion: """
            The columns or members are email, username, name, groups (in CSV separated by ';'), email_verified and \
            password. 'password' is an Argon2id hash as a PHC string; an account without one gets a link, which is \
            printed. Other hashes, such as those of bcrypt, are not accepted: leave them out. Rows that cannot be added \
            are reported, the others are added.
            """
    )

    /// The largest file.
    private static let maxBytes = 64 << 20

    @Argument(help: "The file.")
    var file: String

    @OptionGroup var options: AccountOptions

    func run() throws {
        guard let handle = FileHandle(forReadingAtPath: self.file),
            let data = try? handle.read(upToCount: ImportAccounts.maxBytes + 1), data.count <= ImportAccounts.maxBytes,
            let text = String(validating: data, as: UTF8.self)
        else {
            printError("gatehouse: error: \(self.file) cannot be read, is not UTF-8 or has more than 64 MiB")
            throw ExitCode(1)
        }
        let rows = text.drop { $0.isWhitespace }.first == "{" ? AccountRows.jsonLines(text) : AccountRows.csv(text)
        var failed = 0
        var results: [JSON] = []
        try self.options.gateway.perform { client throws(Failure) in
            for row in rows {
                do throws(Failure) {
                    guard var members = row.members else { throw Failure(.operationsRejected, "not an account") }
                    members["provider"] = self.options.provider.map(JSON.string)
                    let result = try client.post("/v1/accounts/add", members)
                    results.append(result)
                    guard !self.options.json, let link = result["link"]?.string else { continue }
                    printLine("\(result["account"]?["user"]?.string ?? "") \(link)")
                } catch {
                    guard error.reason == .operationsRejected else { throw error }
                    failed += 1
                    printError("\(self.file):\(row.line): error: \(error.detail)")
                }
            }
        }
        if self.options.json { printLine(JSON.object(["added": .array(results)]).pretty()) }
        printError("added \(results.count) accounts, \(failed) rows failed")
        guard failed == 0 else { throw ExitCode(1) }
    }
}

/// The accounts of a file, as the operations API takes them.
enum AccountRows {
    /// One row; `members` is nil if it cannot be one.
    struct Row {
        let line: Int
        let members: [String: JSON]?
    }

    /// One JSON object in each line.
    static func jsonLines(_ text: String) -> [Row] {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
        return lines.filter { !$1.allSatisfy(\.isWhitespace) }.map { index, line in
            Row(line: index + 1, members: (try? JSON(parsing: Array(line.utf8), depth: 2))?.object)
        }
    }

    /// The rows after a header line.
    ///
    /// RFC 4180.
    static func csv(_ text: String) -> [Row] {
        let records = self.records(text)
        guard let header = records.first?.cells.map({ $0.lowercased() }) else { return [] }
        return records.dropFirst().map { record in
            guard record.cells.count == header.count else { return Row(line: record.line, members: nil) }
            var members: [String: JSON] = [:]
            for (name, cell) in zip(header, record.cells) where !cell.isEmpty {
                members[name] =
                    name == "groups" ? .array(cell.split(separator: ";").map { .string(String($0)) }) : .string(cell)
            }
            return Row(line: record.line, members: members)
        }
    }

    private static func records(_ text: String) -> [(line: Int, cells: [String])] {
        var records: [(line: Int, cells: [String])] = []
        var (cells, cell, isQuoted, wasQuoted) = ([String](), [UInt8](), false, false)
        var (line, start) = (1, 1)
        func endCell() {
            cells.append(String(decoding: cell, as: UTF8.self))
            (cell, wasQuoted) = ([], false)
        }
        func endRecord() {
            endCell()
            if cells != [""] { records.append((start, cells)) }
            cells = []
        }
        let quote = UInt8(ascii: "\"")
        for byte in text.utf8 {
            if byte == UInt8(ascii: "\n") { line += 1 }
            switch byte {
            case quote where isQuoted: (isQuoted, wasQuoted) = (false, true)
            case quote where wasQuoted:
                cell.append(quote)
                (isQuoted, wasQuoted) = (true, false)
            case quote where cell.isEmpty: isQuoted = true
            case _ where isQuoted: cell.append(byte)
            case UInt8(ascii: ","): endCell()
            case UInt8(ascii: "\n"):
                endRecord()
                start = line
            case UInt8(ascii: "\r"): continue
            default: cell.append(byte)
            }
        }
        if !cell.isEmpty || !cells.isEmpty { endRecord() }
        return records
    }
}
