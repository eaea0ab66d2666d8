// SPDX-License-Identifier: Apache-2.0

/// An Android app that may open links of a host: Digital Asset Links.
package struct AndroidApp: Sendable, Hashable {
    /// The name of its package, such as `com.example.notes`.
    package let package: String
    /// The SHA-256 fingerprints of the certificates that it is signed with: 32 pairs of capital digits, colons between them.
    package let fingerprints: [String]

    /// Creates an app; nil if the name of the package or a fingerprint is malformed, or without a fingerprint.
    package init?(package: String, fingerprints: [String]) {
        guard AndroidApp.isPackage(package), !fingerprints.isEmpty, fingerprints.allSatisfy(AndroidApp.isFingerprint)
        else { return nil }
        self.package = package
        self.fingerprints = fingerprints.map { $0.uppercased() }
    }

    /// Whether a text is the name of a package: two or more names of letters, digits and `_`, a dot between them.
    package static func isPackage(_ text: String) -> Bool {
        let names = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard names.count >= 2, text.utf8.count <= 255 else { return false }
        return names.allSatisfy { name in
            guard let first = name.first, self.isLetter(first) else { return false }
            return name.allSatisfy { self.isLetter($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "_") }
        }
    }

    /// Whether a text is a SHA-256 fingerprint, as `keytool` and `apksigner` print it with colons.
    package static func isFingerprint(_ text: String) -> Bool {
        let pairs = text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        return pairs.count == 32
            && pairs.allSatisfy { pair in
                pair.count == 2 && pair.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x46).contains($0 & 0xDF) }
            }
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte & 0xDF) }
}
