// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Where one value of a profile comes from: a JSON Pointer into one of a provider's responses, or a fixed text.
///
/// Written `id_token:/claim`, `userinfo:/member`, `api:/user/emails#/0/email`, `callback:/user/name/firstName` or
/// `const:text`; pointers are those of RFC 6901, so a `/` inside a claim's name is written `~1`. One array may be searched: in
/// `api:/user/emails#[primary&&verified]/email` the pointer goes on from the elements for which every condition holds.
package struct ClaimSource: Sendable, Hashable, CustomStringConvertible {
    /// The response that a source reads.
    package enum Document: Sendable, Hashable {
        /// The claims of the verified ID token.
        case idToken
        /// The response of the userinfo endpoint.
        case userinfo
        /// The response of a call to the provider's API, by its path.
        case api(path: String)
        /// The fields of the callback from the browser: not signed, so used for display names only.
        case callback
        /// None: the text is in the configuration.
        case constant
    }

    /// Which response is read.
    package let document: Document
    /// The JSON Pointer into the response, up to the array that is searched if there is one; for a constant, its text.
    let pointer: String
    /// Which elements of the array are looked into; nil if no array is searched.
    let filter: ElementFilter?
    /// The JSON Pointer into such an element; empty for the element itself.
    let tail: String

    private init(_ document: Document, _ pointer: String, _ filter: ElementFilter? = nil, tail: String = "") {
        self.document = document
        self.pointer = pointer
        self.filter = filter
        self.tail = tail
    }

    /// The source as it is written in the configuration.
    package var description: String {
        let path = self.filter.map { "\(self.pointer)\($0)\(self.tail)" } ?? self.pointer
        return switch self.document {
        case .idToken: "id_token:\(path)"
        case .userinfo: "userinfo:\(path)"
        case .api(let call): "api:\(call)#\(path)"
        case .callback: "callback:\(path)"
        case .constant: "const:\(path)"
        }
    }

    /// The path of the API call whose response is read, if it is one.
    var call: String? {
        guard case .api(let path) = self.document else { return nil }
        return path
    }

    /// Whether it searches an array of an API's response.
    package var searchesAPI: Bool { self.call != nil && self.filter != nil }

    /// Whether a flag from this source can apply to the email address of the other: in the same response, and of the same
    /// elements if both search one array.
    func speaks(of address: ClaimSource, isOwn: Bool) -> Bool {
        guard self.document != .constant else { return isOwn }
        guard self.document == address.document else { return false }
        guard self.filter != nil || address.filter != nil else { return true }
        return self.filter == address.filter && self.pointer == address.pointer
    }

    static func idToken(_ pointer: String) -> ClaimSource { ClaimSource(.idToken, pointer) }
    static func userinfo(_ pointer: String) -> ClaimSource { ClaimSource(.userinfo, pointer) }
    static func api(_ path: String, _ pointer: String) -> ClaimSource { ClaimSource(.api(path: path), pointer) }
    static func callback(_ pointer: String) -> ClaimSource { ClaimSource(.callback, pointer) }
}

// MARK: Reading

extension ClaimSource {
    /// Reads a source as it is written in the configuration, or nil if it is not one.
    package init?(_ text: String) {
        guard text.utf8.count <= 1024, let colon = text.firstIndex(of: ":") else { return nil }
        let rest = String(text[text.index(after: colon)...])
        switch text[..<colon] {
        case "id_token": self.init(.idToken, written: rest)
        case "userinfo": self.init(.userinfo, written: rest)
        case "callback": self.init(.callback, written: rest)
        case "api":
            guard let mark = rest.firstIndex(of: "#"), ClaimSource.isPath(rest[..<mark]) else { return nil }
            self.init(.api(path: String(rest[..<mark])), written: String(rest[rest.index(after: mark)...]))
        case "const":
            guard !rest.isEmpty, PrintableText.isPrintable(rest) else { return nil }
            self.init(.constant, rest)
        default: return nil
        }
    }

    /// A pointer, or a pointer, a filter and a pointer, of which only the filter must be there.
    private init?(_ document: Document, written text: String) {
        guard let (start, filter, tail) = ElementFilter.split(text) else {
            guard ClaimSource.isPointer(text), !text.contains("[") else { return nil }
            self.init(document, text)
            return
        }
        guard start.isEmpty || ClaimSource.isPointer(start), tail.isEmpty || ClaimSource.isPointer(tail) else {
            return nil
        }
        self.init(document, start, filter, tail: tail)
    }

    /// `*( "/" *( unescaped / "~0" / "~1" ) )`, here with one step at least.
    ///
    /// RFC 6901 §3.
    private static func isPointer(_ text: String) -> Bool {
        guard text.hasPrefix("/"), text.utf8.count > 1, PrintableText.isPrintable(text) else { return false }
        let tails = text.utf8.split(separator: UInt8(ascii: "~"), omittingEmptySubsequences: false).dropFirst()
        return tails.allSatisfy { $0.first == UInt8(ascii: "0") || $0.first == UInt8(ascii: "1") }
    }

    /// A path below the provider's API address that cannot leave it; an `@` there begins no other host.
    ///
    /// RFC 3986 §3.3.
    private static func isPath(_ text: Substring) -> Bool {
        guard text.hasPrefix("/"), text.utf8.count > 1, text.utf8.count <= 256 else { return false }
        let plain = text.utf8.allSatisfy {
            PercentEncoding.isUnreserved($0) || $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "@")
        }
        let steps = text.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        return plain && steps.allSatisfy { !$0.isEmpty && $0 != "." && $0 != ".." }
    }
}
