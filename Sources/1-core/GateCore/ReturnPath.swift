// SPDX-License-Identifier: Apache-2.0

/// A path on this origin that a user may be redirected to after a sign-in.
///
/// Holds only an absolute path with an optional query, so it can never lead off the origin. RFC 3986 §4.2. There are two ways
/// to one: what any site may have written is read strictly, and what a request had that routing accepted is taken as it is, so
/// that the user comes back to that very URL.
package struct ReturnPath: Sendable, Hashable, CustomStringConvertible {
    /// The maximum length in bytes.
    package static let maxLength = 8192

    /// Path and query, at most 8192 bytes of visible ASCII without `\` and `#`; it starts with one `/`.
    package let value: String

    /// The site's front page.
    package static let root = ReturnPath(unchecked: "/")

    /// Reads a path that any site may have written, such as an `rd`; nil if it could be read as anything but a place on this
    /// site.
    ///
    /// The rule and its tests come from return-URL attacks on other gateways: nothing in it may change meaning when a browser
    /// folds `\`, drops control characters, or decodes it once more.
    package init?(_ text: String) {
        guard ReturnPath.reason(against: text) == nil else { return nil }
        self.value = text
    }

    /// Why ``init(_:)`` rejects a text, without a word of it; nil if it does not.
    package static func reason(against text: String) -> String? {
        guard text.utf8.count <= self.maxLength else { return "has over \(self.maxLength) bytes" }
        guard self.isLocal(text.utf8) else { return "is not the absolute path of a place on the same host" }
        let parts = text.utf8.split(separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
        let decoded = parts.compactMap { PercentEncoding.decode($0) }
        guard decoded.count == parts.count, let path = decoded.first else {
            return "has a '%' that does not begin an escape"
        }
        guard self.isLocalDecoded(path) else { return "has an escape in its path that could lead elsewhere" }
        let isPlain = decoded.dropFirst().allSatisfy { $0.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }
        return isPlain ? nil : "has an escaped control character in its query"
    }

    /// The path and query of a request that routing accepted, or of what the gateway has sealed; nil if a browser could read it
    /// as a URL of another origin, or if it is too long.
    ///
    /// Escapes are kept whatever their meaning: browsers do not decode them to find the origin (WHATWG URL §4.4).
    package init?(requested text: String) {
        let bytes = text.utf8
        guard bytes.count <= ReturnPath.maxLength, bytes.first == UInt8(ascii: "/"),
            bytes.dropFirst().first != UInt8(ascii: "/"), bytes.allSatisfy(ReturnPath.isPlain)
        else { return nil }
        self.value = text
    }

    private init(unchecked: String) {
        self.value = unchecked
    }

    /// The path and query.
    package var description: String { self.value }

    private static func isLocal(_ text: some Collection<UInt8>) -> Bool {
        guard text.first == UInt8(ascii: "/"), text.allSatisfy(self.isPlain) else { return false }
        return self.pathIsPlain(text.prefix { $0 != UInt8(ascii: "?") })
    }

    /// Whether a byte is visible ASCII that begins no fragment and that browsers do not read as `/`.
    private static func isPlain(_ byte: UInt8) -> Bool {
        (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "\\") && byte != UInt8(ascii: "#")
    }

    /// The decoded path may hold any UTF-8, since a page name may; it may not hold what steers a browser.
    private static func isLocalDecoded(_ text: [UInt8]) -> Bool {
        let steers = text.contains { $0 < 0x20 || $0 == 0x7F || $0 == UInt8(ascii: "\\") }
        return !steers && self.pathIsPlain(text)
    }

    /// No `//`, no `.` or `..` segment, anywhere in the path.
    private static func pathIsPlain(_ path: some Collection<UInt8>) -> Bool {
        let segments = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
        for (index, segment) in segments.enumerated() {
            if segment.isEmpty, index < segments.count - 1 { return false }
            let dots = segment.count <= 2 && !segment.isEmpty && segment.allSatisfy { $0 == UInt8(ascii: ".") }
            if dots || (segment.first == UInt8(ascii: " ")) { return false }
        }
        return true
    }
}
