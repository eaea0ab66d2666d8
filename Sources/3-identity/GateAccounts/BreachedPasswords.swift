// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import Foundation
package import GateCore
package import GateProviders

extension LocalAccountSettings {
    /// Why the file of known passwords cannot be used; nil if it can, or if there is no such file.
    package var fileFailure: Failure? {
        guard let path = self.breachedPasswords, let reason = BreachedPasswords(path: path).failure else { return nil }
        return Failure(.fileUnusable, "'breached_passwords', \(path), \(reason)")
    }
}

/// A file of passwords that are publicly known, by their SHA-1: lines `HASH:COUNT`, sorted by hash, as Have I Been Pwned
/// publishes them.
///
/// The file may have any size: a look-up reads some 40 short pieces of it. SHA-1 is only the key of the list.
package struct BreachedPasswords: Sendable, Hashable {
    /// The file.
    package let path: String

    private static let digits = 40
    /// The number of bytes that one step reads: more than the longest line.
    private static let step = 128

    /// The list in a file.
    package init(path: String) {
        self.path = path
    }

    /// Why the file is not such a list; nil if it seems to be one.
    package var failure: String? {
        guard let file = FileHandle(forReadingAtPath: self.path) else { return "cannot be read" }
        defer { try? file.close() }
        guard let first = try? file.read(upToCount: BreachedPasswords.step), !first.isEmpty else { return "is empty" }
        let line = Array(first.prefix { $0 != UInt8(ascii: "\n") })
        return BreachedPasswords.hash(of: line) == nil ? "has no line such as 'HASH:COUNT' with a SHA-1 hash" : nil
    }

    /// Whether the list has a password.
    ///
    /// - Throws: `file.unusable` if the file cannot be read or is not sorted lines of hashes; a password that cannot be checked is not accepted.
    package func contain(_ password: Secret) throws(Failure) -> Bool {
        let wanted = password.withBytes { bytes in
            Array(Insecure.SHA1.hash(data: bytes)).flatMap { BreachedPasswords.hexadecimal($0) }
        }
        guard let file = FileHandle(forReadingAtPath: self.path) else { throw self.unreadable }
        defer { try? file.close() }
        do {
            return try self.search(file, for: wanted)
        } catch {
            throw self.unreadable
        }
    }

    private func search(_ file: FileHandle, for wanted: [UInt8]) throws -> Bool {
        // The line with the hash begins at `low` or after it, and before `high`.
        let end = try file.seekToEnd()
        var (low, high) = (UInt64(0), end)
        while low < high {
            let middle = low + (high - low) / 2
            guard let line = try self.line(of: file, atOrAfter: middle) else {
                high = middle
                continue
            }
            guard line.start < high else {
                high = middle
                continue
            }
            guard let hash = BreachedPasswords.hash(of: line.bytes) else {
                // Empty lines are at the end only: elsewhere half of the list would not be found.
                let isEnd = line.bytes.allSatisfy { $0 == 0x0D || $0 == 0x20 } && line.start + 2 >= end
                guard isEnd else { throw MalformedLine() }
                high = middle
                continue
            }
            if hash == wanted { return true }
            if hash.lexicographicallyPrecedes(wanted) {
                low = line.start + UInt64(line.bytes.count) + 1
            } else {
                high = middle
            }
        }
        return false
    }

    private struct MalformedLine: Error {}

    /// The first line that begins at a place or after it.
    private func line(of file: FileHandle, atOrAfter place: UInt64) throws -> (start: UInt64, bytes: [UInt8])? {
        // A line begins at the place itself if a line break is before it.
        let from = place == 0 ? 0 : place - 1
        try file.seek(toOffset: from)
        var bytes = Array(try file.read(upToCount: 2 * BreachedPasswords.step) ?? Data())
        var start = from
        if place > 0 {
            guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
            bytes.removeFirst(end + 1)
            start += UInt64(end + 1)
        }
        guard !bytes.isEmpty else { return nil }
        return (start, Array(bytes.prefix { $0 != UInt8(ascii: "\n") }))
    }

    /// The hash at the start of a line, in upper case; nil if the line has none.
    private static func hash(of line: [UInt8]) -> [UInt8]? {
        let hash = line.prefix(BreachedPasswords.digits).map { (0x61...0x66).contains($0) ? $0 - 0x20 : $0 }
        let isHash = hash.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x46).contains($0) }
        let end = line.dropFirst(BreachedPasswords.digits).first ?? UInt8(ascii: ":")
        guard hash.count == BreachedPasswords.digits, isHash, [0x3A, 0x0D].contains(end) else { return nil }
        return hash
    }

    private static func hexadecimal(_ byte: UInt8) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        return [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }

    private var unreadable: Failure {
        Failure(.fileUnusable, "'breached_passwords' cannot be read: \(self.path)")
    }
}
