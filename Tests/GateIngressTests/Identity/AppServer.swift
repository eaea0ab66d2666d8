// SPDX-License-Identifier: Apache-2.0

/// How app servers read the header fields of a request: under which key an app finds a field, and what of several.
///
/// `Tests/Fixtures/app-servers/heads.json` holds the models to the real servers.
enum AppServer: String, CaseIterable, Sendable {
    /// Servers by RFC 3875 at their most lenient: every character but letters and digits is `_`.
    case cgi
    /// Python's `wsgiref`: `-` is `_`, and other characters stay; fields of one key are joined by a comma.
    case wsgi
    /// Node: lower case; of several fields some names keep the first, and the others are joined.
    case node
    /// Go's `net/http`: the canonical MIME spelling, and a list.
    case go
    /// Rack's servers: as WSGI, joined by a comma and a space.
    case rack

    /// The names of which Node keeps the first.
    private static let firstOfNode: Set<String> = [
        "age", "authorization", "content-length", "content-type", "etag", "expires", "from", "host",
        "if-modified-since", "if-unmodified-since", "last-modified", "location", "max-forwards",
        "proxy-authorization", "referer", "retry-after", "server", "user-agent",
    ]

    /// The key under which an app finds the fields of a name.
    func key(of name: String) -> String {
        switch self {
        case .cgi, .wsgi, .rack:
            let bytes = Array(name.utf8).map { byte in
                let isKept = self == .cgi ? AppServer.isLetterOrDigit(byte) : byte != UInt8(ascii: "-")
                return isKept ? AppServer.upper(byte) : UInt8(ascii: "_")
            }
            let text = AppServer.text(bytes)
            return ["CONTENT_TYPE", "CONTENT_LENGTH"].contains(text) ? text : "HTTP_\(text)"
        case .node: return AppServer.text(Array(name.utf8).map(AppServer.lower))
        case .go: return AppServer.canonical(Array(name.utf8))
        }
    }

    /// The key in lower case, with `-` for all that is neither letter nor digit, without what CGI puts before it.
    func folded(_ key: String) -> String {
        let isOfCGI = [.cgi, .wsgi, .rack].contains(self) && key.hasPrefix("HTTP_")
        let bytes = Array(isOfCGI ? key.utf8.dropFirst(5) : Substring(key).utf8)
        return AppServer.text(bytes.map { AppServer.isLetterOrDigit($0) ? AppServer.lower($0) : UInt8(ascii: "-") })
    }

    /// What an app reads of a head, by key.
    func fields(of head: [UInt8]) -> [String: [String]] {
        var fields: [String: [String]] = [:]
        for (name, value) in self.lines(of: head) {
            let key = self.key(of: name)
            guard let known = fields[key], let first = known.first else {
                fields[key] = [value]
                continue
            }
            switch self {
            case .wsgi: fields[key] = ["\(first),\(value)"]
            case .cgi, .rack: fields[key] = ["\(first), \(value)"]
            case .go: fields[key] = known + [value]
            case .node where AppServer.firstOfNode.contains(key): continue
            case .node: fields[key] = [key == "cookie" ? "\(first); \(value)" : "\(first), \(value)"]
            }
        }
        return fields
    }

    /// Names and values of the lines after the first, where a line that begins with white space continues the one before.
    private func lines(of head: [UInt8]) -> [(name: String, value: String)] {
        var lines: [[UInt8]] = []
        for line in self.split(head).dropFirst() {
            guard !line.isEmpty else { break }
            if AppServer.isSpace(line[line.startIndex]), let last = lines.popLast() {
                lines.append(last + line)
            } else {
                lines.append(Array(line))
            }
        }
        return lines.map { line in
            let sides = line.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
            let value = sides.count == 2 ? AppServer.trimmed(sides[1]) : []
            return (AppServer.text(AppServer.trimmed(sides[0])), AppServer.text(value))
        }
    }

    /// All take a bare LF for the end of a line; Python takes a bare CR for one as well.
    private func split(_ head: [UInt8]) -> [ArraySlice<UInt8>] {
        let lines = head.split(separator: 0x0A, omittingEmptySubsequences: false).map { line in
            line.last == 0x0D ? line.dropLast() : line
        }
        guard self == .wsgi else { return lines }
        return lines.flatMap { $0.split(separator: 0x0D, omittingEmptySubsequences: false) }
    }

    /// `textproto.CanonicalMIMEHeaderKey`: a name with a byte that is not a token's stays as it is.
    private static func canonical(_ name: [UInt8]) -> String {
        let isToken = name.allSatisfy { self.isLetterOrDigit($0) || "!#$%&'*+-.^_`|~".utf8.contains($0) }
        guard isToken else { return self.text(name) }
        var isFirst = true
        let spelled = name.map { byte in
            defer { isFirst = byte == UInt8(ascii: "-") }
            return isFirst ? self.upper(byte) : self.lower(byte)
        }
        return self.text(spelled)
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        let front = bytes.drop(while: self.isSpace)
        return Array(
            front.prefix((front.lastIndex { !self.isSpace($0) } ?? front.startIndex - 1) - front.startIndex + 1)
        )
    }

    /// The bytes as Latin-1.
    static func text(_ bytes: [UInt8]) -> String {
        var scalars = String.UnicodeScalarView()
        scalars.append(contentsOf: bytes.map { UnicodeScalar($0) })
        return String(scalars)
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF)
    }

    private static func upper(_ byte: UInt8) -> UInt8 { (0x61...0x7A).contains(byte) ? byte & 0xDF : byte }

    private static func lower(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }
}
