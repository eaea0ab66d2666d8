// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateWire
internal import NIOCore

/// What Envoy asks in a call of `envoy.service.auth.v3.Authorization/Check`: the request of its client.
///
/// Method, host, path and `header_map` of `attributes.request.http` are all that is read. They become a head, so that everything after it is as with
/// a proxy that asks over HTTP.
package struct CheckRequest {
    /// The path of the call.
    private static let path = "/envoy.service.auth.v3.Authorization/Check"
    /// The longest call; a head has at most 32 KiB, and Envoy adds metadata if it is configured to.
    package static let maxBytes = 128 << 10
    /// More than a head may have, so that its own limit is the one that a client sees.
    private static let maxFields = 256

    private var method: [UInt8]?
    private var host: [UInt8]?
    private var target: [UInt8]?
    private var fields: [(name: [UInt8], value: [UInt8])] = []

    /// Whether a request is a call.
    package static func isCarried(by request: RequestHead) -> Bool {
        request.method == .post && request.receivedTarget.elementsEqual(self.path.utf8)
    }

    /// The message in the body of a call.
    ///
    /// - Parameter body: The whole body: one message, not compressed.
    /// - Throws: A failure that names what is missing or malformed.
    package init(body: [UInt8]) throws(Failure) {
        guard body.count >= 5, body[0] == 0 else { throw ProtobufReader.failure("it is compressed or has no length") }
        let length = body[1...4].reduce(0) { $0 << 8 | Int($1) }
        guard length == body.count - 5 else { throw ProtobufReader.failure("its length is not that of the body") }
        let attributes = try Self.message(1, "attributes", in: body[5...])
        let request = try Self.message(4, "request", in: attributes)
        try self.read(try Self.message(2, "http", in: request))
    }

    /// The field of a message that is a message itself; it has to be there.
    private static func message(
        _ number: UInt64,
        _ name: String,
        in message: ArraySlice<UInt8>
    ) throws(Failure) -> ArraySlice<UInt8> {
        var reader = ProtobufReader(message)
        var found: ArraySlice<UInt8>?
        while let field = try reader.next() {
            if field.number == number { try found.setOnce(try field.value.bytes(of: name), name) }
        }
        guard let found else { throw ProtobufReader.failure("it has no \(name)") }
        return found
    }

    /// `AttributeContext.HttpRequest`.
    private mutating func read(_ message: ArraySlice<UInt8>) throws(Failure) {
        var reader = ProtobufReader(message)
        var map: ArraySlice<UInt8>?
        while let field = try reader.next() {
            switch field.number {
            case 2: try self.method.setOnce(try field.value.text(of: "method"), "method")
            case 4: try self.target.setOnce(try field.value.text(of: "path"), "path")
            case 5: try self.host.setOnce(try field.value.text(of: "host"), "host")
            case 13: try map.setOnce(try field.value.bytes(of: "header_map"), "header_map")
            default: continue
            }
        }
        // In the other form, a map, fields of one name are joined: two credentials look like one.
        guard let map else {
            throw ProtobufReader.failure("it has no header_map; set 'encode_raw_headers: true' in Envoy")
        }
        try self.readFields(map)
    }

    /// `config.core.v3.HeaderMap`.
    private mutating func readFields(_ message: ArraySlice<UInt8>) throws(Failure) {
        var reader = ProtobufReader(message)
        while let field = try reader.next() {
            guard field.number == 1 else { continue }
            guard self.fields.count < Self.maxFields else {
                throw ProtobufReader.failure("it has over \(Self.maxFields) headers")
            }
            self.fields.append(try Self.field(try field.value.bytes(of: "header_map")))
        }
    }

    /// `config.core.v3.HeaderValue`, with the value as text or as bytes.
    private static func field(_ message: ArraySlice<UInt8>) throws(Failure) -> (name: [UInt8], value: [UInt8]) {
        var reader = ProtobufReader(message)
        var (name, text, raw): ([UInt8]?, [UInt8]?, [UInt8]?)
        while let field = try reader.next() {
            switch field.number {
            case 1: try name.setOnce(try field.value.text(of: "a header"), "the name of a header")
            case 2: try text.setOnce(try field.value.text(of: "a header"), "the value of a header")
            case 3: try raw.setOnce(Array(try field.value.bytes(of: "a header")), "the value of a header")
            default: continue
            }
        }
        guard text?.isEmpty != false || raw?.isEmpty != false else {
            throw ProtobufReader.failure("a header has two values")
        }
        return (name ?? [], (text ?? []) + (raw ?? []))
    }

    /// The request as a proxy that asks over HTTP would send it, below a path of ours.
    ///
    /// - Parameters:
    ///   - path: The path before that of the client.
    ///   - names: The names with a meaning.
    /// - Returns: The head.
    /// - Throws: A failure that names what is missing or malformed.
    package func head(below path: String, names: FieldNames) throws(Failure) -> RequestHead {
        guard let method, let host, let target, target.first == UInt8(ascii: "/") else {
            throw ProtobufReader.failure("it has no method, no host or no path")
        }
        // No byte may end a line, or a part of one, before its end; the parser checks all else.
        guard [method, host, target].allSatisfy({ $0.allSatisfy { $0 > 0x20 && $0 != 0x7F } }) else {
            throw ProtobufReader.failure("the method, host or path has a space or control character")
        }
        var bytes = ByteBuffer(bytes: method)
        bytes.writeString(" \(path)")
        bytes.writeBytes(target)
        bytes.writeString(" HTTP/1.1\r\nHost: ")
        bytes.writeBytes(host)
        bytes.writeString("\r\n")
        for field in self.fields where field.name.first != UInt8(ascii: ":") {
            guard !field.name.isEmpty, field.name.allSatisfy({ $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: ":") }),
                field.value.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 })
            else { throw ProtobufReader.failure("a header has a character that no header has") }
            bytes.writeBytes(field.name + [0x3A, 0x20] + field.value + [0x0D, 0x0A])
        }
        bytes.writeString("\r\n")
        do throws(WireRejection) {
            var parser = RequestParser(names: names, isSecure: false)
            guard let head = try parser.head(from: &bytes), bytes.readableBytes == 0 else {
                throw .malformed(.requestStartLine)
            }
            return head
        } catch {
            throw Failure(error.reason, "of the request that the proxy asks about")
        }
    }
}
