// SPDX-License-Identifier: Apache-2.0

import GateCore
import NIOCore
import Testing

@testable import GateWire

/// Bytes as a test writes them; `\xHH` is one byte.
func wire(_ text: String) -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
        if byte == UInt8(ascii: "\\"), rest.first == UInt8(ascii: "x"),
            let value = UInt8(String(decoding: rest.dropFirst().prefix(2), as: UTF8.self), radix: 16)
        {
            bytes.append(value)
            rest = rest.dropFirst(3)
        } else {
            bytes.append(byte)
        }
    }
    return bytes
}

/// The result of parsing a head.
enum ParseResult: Equatable, CustomStringConvertible {
    case rejected(Int, String)
    case incomplete
    case head(String)

    var description: String {
        switch self {
        case .rejected(let status, let reason): "\(status) \(reason)"
        case .incomplete: "incomplete"
        case .head(let text): text
        }
    }

    var status: Int? {
        if case .rejected(let status, _) = self { status } else { nil }
    }

    var isHead: Bool {
        if case .head = self { true } else { false }
    }
}

/// One attack or one borderline request, by its id.
struct Row: Sendable, CustomTestStringConvertible {
    let id: String
    let bytes: [UInt8]
    let status: Int

    init(_ id: String, _ text: String, _ status: Int = 400) {
        self.id = id
        self.bytes = wire(text)
        self.status = status
    }

    /// A `POST` with these field lines and `Host`.
    static func fields(_ id: String, _ lines: String, _ status: Int = 400) -> Row {
        Row(id, "POST / HTTP/1.1\r\nHost: a\r\n\(lines)\r\n\r\n", status)
    }

    var testDescription: String {
        let shown = self.bytes.prefix(70).map { byte in
            byte > 0x20 && byte < 0x7F
                ? String(UnicodeScalar(byte)) : byte == 0x20 ? " " : "\\x\(String(byte, radix: 16))"
        }
        return "\(self.id) \(shown.joined())"
    }
}

extension RequestParser {
    /// A parser on a plain connection.
    static func plain() -> RequestParser { RequestParser(names: FieldNames(), isSecure: false) }
}

extension RequestHead {
    /// All results of the parser, as text.
    var summary: String {
        let fields = self.message.fields.map { field in
            "\(self.message.text(field.nameRange))=\(self.message.text(field.valueRange))(\(field.name))"
        }
        return """
            \(self.method.rawValue) \(self.isAsterisk ? "*" : self.target) 1.\(self.minorVersion) \(self.authority.text) \
            \(self.framing) keep=\(self.keepsAlive) continue=\(self.expectsContinue) \(fields)
            """
    }
}

/// Parses one head from pieces.
func read(_ pieces: [[UInt8]], with parser: RequestParser = .plain()) -> ParseResult {
    var parser = parser
    var buffer = ByteBuffer()
    for piece in pieces {
        buffer.writeBytes(piece)
        do {
            if let head = try parser.head(from: &buffer) { return .head(head.summary) }
        } catch {
            return .rejected(error.status, error.reason.code)
        }
    }
    return .incomplete
}

/// The head of a request that must be accepted.
func accepted(_ text: String, isSecure: Bool = false, names: FieldNames = FieldNames()) throws -> RequestHead {
    var parser = RequestParser(names: names, isSecure: isSecure)
    var buffer = ByteBuffer(bytes: wire(text))
    return try #require(try parser.head(from: &buffer))
}

/// A `GET` for this target.
func target(_ target: String) throws -> RequestHead {
    try accepted("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n")
}
