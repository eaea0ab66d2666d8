// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// The next page according to the `Link` fields of a response.
///
/// RFC 8288 §3.
enum NextLink: Equatable {
    /// The page has no link to another one.
    case none
    /// It is there; the target as it was written.
    case at(String)
    /// The fields cannot be parsed.
    case unreadable

    /// The next page after a response.
    static func after(_ response: ProviderResponse) -> NextLink {
        for field in response.headers where field.name == "link" {
            guard field.value.utf8.count <= 16_384 else { return .unreadable }
            var reader = LinkReader(rest: field.value[...])
            while !reader.isAtEnd {
                guard let link = reader.link() else { return .unreadable }
                let relations = link.parameters.first { $0.name == "rel" }?.value.lowercased() ?? ""
                // A link with another context does not apply to this page: RFC 8288 §3.2.
                let isOurs = !link.parameters.contains { $0.name == "anchor" }
                if isOurs, relations.split(separator: " ").contains("next") { return .at(link.target) }
            }
        }
        return .none
    }
}

/// Takes one link after the other off a field.
private struct LinkReader {
    struct Link {
        let target: String
        var parameters: [(name: String, value: String)] = []
    }

    var rest: Substring

    /// Skips white space and empty elements, which RFC 9110 §5.6.1 allows.
    var isAtEnd: Bool {
        mutating get {
            self.rest = self.rest.drop { $0 == " " || $0 == "\t" || $0 == "," }
            return self.rest.isEmpty
        }
    }

    /// `"<" URI-Reference ">" *( OWS ";" OWS parameter )`, up to the comma; nil if it is not that.
    mutating func link() -> Link? {
        guard self.take("<"), let end = self.rest.firstIndex(of: ">") else { return nil }
        var link = Link(target: String(self.rest[..<end]))
        self.rest = self.rest[self.rest.index(after: end)...]
        while true {
            self.skipSpace()
            guard self.take(";") else { break }
            self.skipSpace()
            guard let parameter = self.parameter() else { return nil }
            link.parameters.append(parameter)
        }
        return self.rest.isEmpty || self.rest.first == "," ? link : nil
    }

    /// `token [ "=" ( token / quoted-string ) ]`.
    private mutating func parameter() -> (name: String, value: String)? {
        let name = self.token()
        self.skipSpace()
        guard self.take("=") else { return (name, "") }
        self.skipSpace()
        guard self.take("\"") else { return (name, self.token(in: ",; \t")) }
        var value = ""
        while let character = self.rest.popFirst() {
            switch character {
            case "\"": return (name, value)
            case "\\":
                guard let escaped = self.rest.popFirst() else { return nil }
                value.append(escaped)
            default: value.append(character)
            }
        }
        return nil
    }

    private mutating func token(in ends: String = "=,; \t") -> String {
        let token = self.rest.prefix { !ends.contains($0) }
        self.rest = self.rest[token.endIndex...]
        return ends.contains("=") ? token.lowercased() : String(token)
    }

    private mutating func skipSpace() {
        self.rest = self.rest.drop { $0 == " " || $0 == "\t" }
    }

    private mutating func take(_ character: Character) -> Bool {
        guard self.rest.first == character else { return false }
        self.rest.removeFirst()
        return true
    }
}
