// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import GateCore

/// A file of JSON that a command is given.
enum SavedJSON {
    /// Reads a file of at most 1 MiB.
    ///
    /// - Parameters:
    ///   - path: The file; `-` is standard input.
    ///   - reason: The failure if it cannot be read or is not JSON.
    /// - Returns: The value.
    /// - Throws: That failure.
    static func read(_ path: String, for reason: Failure.Reason) throws(Failure) -> JSON {
        let limit = 1 << 20
        let handle = path == "-" ? FileHandle.standardInput : FileHandle(forReadingAtPath: path)
        guard let handle, let bytes = try? handle.read(upToCount: limit + 1) else {
            throw Failure(reason, "'\(path)' cannot be read, or is empty")
        }
        guard bytes.count <= limit else {
            throw Failure(reason, "'\(path)' is larger than 1 MiB")
        }
        do throws(JSON.ParseError) {
            return try JSON(parsing: Array(bytes), depth: 32)
        } catch {
            throw Failure(reason, "'\(path)' \(self.words(for: error, in: bytes))")
        }
    }

    private static func words(for error: JSON.ParseError, in bytes: Data) -> String {
        switch error {
        case .syntax(let offset):
            "is not JSON; see line \(bytes.prefix(offset).count { $0 == UInt8(ascii: "\n") } + 1)"
        case .tooDeep: "is over 32 levels deep"
        case .duplicateName(let name): "has the member '\(name.prefix(60))' twice in one object"
        }
    }
}
