// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// How app servers read the names of fields.
package enum FieldSpelling {
    /// A name in lower case, as app servers read it that map each irregular character to `-`.
    static func regular(_ name: String) -> String {
        String(
            decoding: name.lowercased().utf8.map { ByteClass.isPlainName($0) ? $0 : UInt8(ascii: "-") },
            as: UTF8.self
        )
    }

    /// Whether some app server reads a name as another one: without regard to letter case, and to `-`, `_` and their like.
    package static func isReadAs(_ name: String, _ other: String) -> Bool {
        name.utf8.count == other.utf8.count && isIdentical(self.regular(name), self.regular(other))
    }
}
