// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Where one value of a profile comes from: a JSON Pointer into one of a provider's answers, or a fixed text.
///
/// Written `id_token:/claim`, `userinfo:/member`, `api:/user/emails#/0/email` or `const:text`; pointers are those of
/// RFC 6901, so a `/` inside a claim's name is written `~1`.
package struct ClaimSource: Sendable, Hashable, CustomStringConvertible {
    /// The answer that a source reads.
    package enum Document: Sendable, Hashable {
        /// The claims of the verified ID token.
        case idToken
        /// The answer of the userinfo endpoint.
        case userinfo
        /// The answer of a call to the provider's API, by its path.
        case api(path: String)
        /// No answer: the text is in the configuration.
        case constant
    }

    /// Which answer is read.
    package let document: Document
    /// The JSON Pointer into the answer; for a constant, its text.
    package let pointer: String

    /// Reads a source as it is written in the configuration, or nil if it is not one.
    package init?(_ text: String) {
        guard text.utf8.count <= 1024, let colon = text.firstIndex(of: ":") else { return nil }
        let rest = String(text[text.index(after: colon)...])
        switch text[..<colon] {
        case "id_token": self.init(.idToken, checked: rest)
        case "userinfo": self.init(.userinfo, checked: rest)
        case "api":
            guard let mark = rest.firstIndex(of: "#"), ClaimSource.isPath(rest[..<mark]) else { return nil }
            self.init(.api(path: String(rest[..<mark])), checked: String(rest[rest.index(after: mark)...]))
        case "const":
            guard !rest.isEmpty, PlainText.isPlain(rest) else { return nil }
            self.init(.constant, rest)
        default: return nil
        }
    }

    private init(_ document: Document, _ pointer: String) {
        self.document = document
        self.pointer = pointer
    }

    private init?(_ document: Document, checked pointer: String) {
        guard ClaimSource.isPointer(pointer) else { return nil }
        self.init(document, pointer)
    }

    /// The source as it is written in the configuration.
    package var description: String {
        switch self.document {
        case .idToken: "id_token:\(self.pointer)"
        case .userinfo: "userinfo:\(self.pointer)"
        case .api(let path): "api:\(path)#\(self.pointer)"
        case .constant: "const:\(self.pointer)"
        }
    }

    static func idToken(_ pointer: String) -> ClaimSource { ClaimSource(.idToken, pointer) }
    static func userinfo(_ pointer: String) -> ClaimSource { ClaimSource(.userinfo, pointer) }
    static func api(_ path: String, _ pointer: String) -> ClaimSource { ClaimSource(.api(path: path), pointer) }

    /// `*( "/" *( unescaped / "~0" / "~1" ) )`, here with one step at least.
    ///
    /// RFC 6901 §3.
    private static func isPointer(_ text: String) -> Bool {
        guard text.hasPrefix("/"), text.utf8.count > 1, PlainText.isPlain(text) else { return false }
        let tails = text.utf8.split(separator: UInt8(ascii: "~"), omittingEmptySubsequences: false).dropFirst()
        return tails.allSatisfy { $0.first == UInt8(ascii: "0") || $0.first == UInt8(ascii: "1") }
    }

    /// A path below the provider's API address that cannot leave it.
    private static func isPath(_ text: Substring) -> Bool {
        guard text.hasPrefix("/"), text.utf8.count > 1, text.utf8.count <= 256 else { return false }
        let plain = text.utf8.allSatisfy { PercentEncoding.isUnreserved($0) || $0 == UInt8(ascii: "/") }
        let steps = text.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        return plain && steps.allSatisfy { !$0.isEmpty && $0 != "." && $0 != ".." }
    }
}
