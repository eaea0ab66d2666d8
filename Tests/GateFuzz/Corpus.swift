// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The kept inputs of a fuzz target, as text: one per line, `\xHH` for a byte outside printable ASCII.
package enum Corpus {
    /// All kept inputs of a fuzz target.
    package static func inputs(for target: FuzzTarget) throws -> [[UInt8]] {
        let tests = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
            .deletingLastPathComponent().deletingLastPathComponent()
        let text = try String(
            contentsOf: tests.appending(path: "Fixtures/fuzz/\(target.rawValue).txt"),
            encoding: .utf8
        )
        return text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { self.bytes(of: $0) }
    }

    private static func bytes(of line: Substring) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = Array(line.utf8)[...]
        while let byte = rest.popFirst() {
            let digits = String(decoding: rest.dropFirst().prefix(2), as: UTF8.self)
            if byte == UInt8(ascii: "\\"), rest.first == UInt8(ascii: "x"), let value = UInt8(digits, radix: 16) {
                bytes.append(value)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }
}
