// SPDX-License-Identifier: Apache-2.0

/// An absolute http or https address without user name and fragment.
///
/// RFC 3986 §4.3.
package struct WebURL: Sendable, Hashable, CustomStringConvertible {
    /// Where the address leads to.
    package let origin: Origin
    /// The path, starting with `/`; as it was written.
    package let path: String
    /// The query without its `?`, or nil.
    package let query: String?

    /// Makes an address on an origin; `path` must start with `/`.
    package init(origin: Origin, path: String = "/", query: String? = nil) {
        self.origin = origin
        self.path = path
        self.query = query
    }

    /// Reads an address, or nil if it is not one: at most 8 KiB of visible ASCII, http(s), no user, no fragment.
    package init?(_ text: String) {
        guard text.utf8.count <= 8192 else { return nil }
        let illegal = WebURL.illegal
        guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !illegal.contains($0) }) else { return nil }
        guard let mark = text.firstRange(of: "://") else { return nil }
        let rest = text[mark.upperBound...]
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        guard let authority = WebURL.split(authority: rest[..<end]) else { return nil }
        guard let origin = Origin(scheme: String(text[..<mark.lowerBound]), host: authority.host, port: authority.port)
        else { return nil }
        let target = rest[end...].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        self.origin = origin
        self.path = target.first.map(String.init).flatMap { $0.isEmpty ? nil : $0 } ?? "/"
        self.query = target.count > 1 ? String(target[1]) : nil
    }

    private static let illegal = Array("\"<>\\^`{|}#".utf8)

    /// Path and query as a request line carries them.
    package var target: String { self.query.map { "\(self.path)?\($0)" } ?? self.path }

    /// The whole address.
    package var description: String { "\(self.origin)\(self.target)" }

    /// Host and port of an authority, or nil if it has a user, a bad port, or no host.
    package static func split(authority: some StringProtocol) -> (host: String, port: Int?)? {
        let bytes = Array(authority.utf8)
        guard !bytes.contains(UInt8(ascii: "@")) else { return nil }
        let bracket = bytes.first == UInt8(ascii: "[") ? bytes.firstIndex(of: UInt8(ascii: "]")) : nil
        guard let colon = bytes[(bracket ?? 0)...].firstIndex(of: UInt8(ascii: ":")) else {
            return (String(authority), nil)
        }
        let digits = bytes[(colon + 1)...]
        guard (1...5).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        let port = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        guard (1...65_535).contains(port) else { return nil }
        return (String(decoding: bytes[..<colon], as: UTF8.self), port)
    }
}
