// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import GateWire

@Suite struct WebSocketHandshakeTests {
    /// The key and its response of RFC 6455 §1.3.
    private static let key = "dGhlIHNhbXBsZSBub25jZQ=="
    private static let accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
    private static let usual = [
        "Connection: keep-alive, Upgrade", "Upgrade: WebSocket", "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: \(key)",
    ]

    private static func request(_ lines: [String], line: String = "GET /a HTTP/1.1") throws -> RequestHead {
        var bytes = ByteBuffer(string: ([line, "Host: a"] + lines).joined(separator: "\r\n") + "\r\n\r\n")
        var parser = RequestParser(names: FieldNames(), isSecure: true)
        return try #require(try parser.head(from: &bytes))
    }

    private static func handshake(_ lines: [String]) throws -> WebSocketHandshake {
        try WebSocketHandshake(of: try self.request(lines))
    }

    private static func response(_ lines: [String], status: Int = 101) throws -> ResponseHead {
        let head = ["HTTP/1.1 \(status) Switching Protocols"] + lines
        var bytes = ByteBuffer(string: head.joined(separator: "\r\n") + "\r\n\r\n")
        return try #require(try ResponseParser(names: .response).head(from: &bytes, for: .get))
    }

    @Test func `S-54 a valid handshake is accepted`() throws {
        let handshake = try Self.handshake(
            Self.usual + [
                "Sec-WebSocket-Protocol: chat, superchat", "Sec-WebSocket-Protocol: third",
                "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits, x",
            ]
        )
        #expect(handshake.key == Self.key && handshake.isKeyOfClient)
        #expect(
            handshake.protocols == ["chat", "superchat", "third"]
                && handshake.extensions == ["permessage-deflate", "x"]
        )
    }

    /// The replacement of a line of the usual handshake; empty to remove it.
    @Test(arguments: [
        (0, ""), (0, "Connection: close"), (0, "Connection: websocket"), (1, "Upgrade: websocket, h2c"),
        (1, "Upgrade: h2c, websocket"), (1, "Upgrade: websocket\r\nUpgrade: websocket"), (1, "Upgrade: websocket/13"),
        (2, ""), (2, "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Version: 13"), (3, ""),
        (3, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ"), (3, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZR=="),
        (3, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25j"), (3, "Sec-WebSocket-Key: dGhlIHNhbXBs-SBub25jZQ=="),
        (3, "Sec-WebSocket-Key: \(key)\r\nSec-WebSocket-Key: \(key)"), (3, "Sec-WebSocket-Key:"),
        (3, "Sec-WebSocket-Key: \(key)\r\nContent-Length: 5"),
    ])
    func `S-54 a handshake with one error is rejected`(index: Int, line: String) throws {
        var lines = Self.usual
        lines[index] = line
        let request = try Self.request(lines.filter { !$0.isEmpty })
        #expect(WebSocketHandshake.isRequested(by: request))
        #expect {
            try WebSocketHandshake(of: request)
        } throws: { error in
            guard case .malformed? = error as? WebSocketHandshake.Rejection else { return false }
            return true
        }
    }

    @Test(arguments: ["1337", "8", "013", "13, 8", ""])
    func `S-54 another version has its own rejection`(version: String) throws {
        var lines = Self.usual
        lines[2] = "Sec-WebSocket-Version: \(version)"
        #expect(throws: WebSocketHandshake.Rejection.version) { try Self.handshake(lines) }
    }

    @Test(arguments: ["POST /a HTTP/1.1", "HEAD /a HTTP/1.1", "GET /a HTTP/1.0"])
    func `S-54 only GET over HTTP/1.1 opens a WebSocket`(line: String) throws {
        let request = try Self.request(Self.usual, line: line)
        #expect(throws: WebSocketHandshake.Rejection.self) { try WebSocketHandshake(of: request) }
    }

    @Test(arguments: ["Upgrade: h2c", "Upgrade: foo", "Connection: upgrade"])
    func `S-53 other upgrades are not WebSocket handshakes`(line: String) throws {
        #expect(!WebSocketHandshake.isRequested(by: try Self.request([line])))
    }

    @Test func `G-09 a length of 0 makes no body, in a handshake and in its response`() throws {
        let handshake = try Self.handshake(Self.usual + ["Content-Length: 0"])
        let usual = ["Upgrade: websocket", "Connection: upgrade", "Sec-WebSocket-Accept: \(Self.accept)"]
        #expect(handshake.rejectionReason(for: try Self.response(usual + ["Content-Length: 0"])) == nil)
        for line in ["Content-Length: 5", "Transfer-Encoding: chunked"] {
            #expect(handshake.rejectionReason(for: try Self.response(usual + [line])) == "a body", "\(line)")
        }
    }

    @Test func `a matching response of the app is accepted`() throws {
        let handshake = try Self.handshake(
            Self.usual + ["Sec-WebSocket-Protocol: chat", "Sec-WebSocket-Extensions: x; y=1"]
        )
        let usual = ["Upgrade: websocket", "Connection: upgrade", "Sec-WebSocket-Accept: \(Self.accept)"]
        #expect(handshake.rejectionReason(for: try Self.response(usual)) == nil)
        let more = ["Sec-WebSocket-Protocol: chat", "Sec-WebSocket-Extensions: x; z"]
        #expect(handshake.rejectionReason(for: try Self.response(usual + more)) == nil)
    }

    @Test(arguments: [
        (0, ""), (0, "Upgrade: h2c"), (0, "Upgrade: websocket\r\nUpgrade: websocket"), (1, ""),
        (1, "Connection: close"),
        (2, ""), (2, "Sec-WebSocket-Accept: \(key)"), (2, "Sec-WebSocket-Accept: S3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
        (2, "Sec-WebSocket-Accept: \(accept)\r\nSec-WebSocket-Accept: \(accept)"),
        (2, "Sec-WebSocket-Accept: \(accept)\r\nSec-WebSocket-Protocol: other"),
        (2, "Sec-WebSocket-Accept: \(accept)\r\nSec-WebSocket-Protocol: chat\r\nSec-WebSocket-Protocol: chat"),
        (2, "Sec-WebSocket-Accept: \(accept)\r\nSec-WebSocket-Extensions: permessage-deflate"),
        (2, "Sec-WebSocket-Accept: \(accept)\r\nTransfer-Encoding: chunked"),
    ])
    func `S-54 a response of the app that does not match is rejected`(index: Int, line: String) throws {
        let handshake = try Self.handshake(
            Self.usual + ["Sec-WebSocket-Protocol: chat", "Sec-WebSocket-Extensions: x"]
        )
        var lines = ["Upgrade: websocket", "Connection: upgrade", "Sec-WebSocket-Accept: \(Self.accept)"]
        lines[index] = line
        #expect(handshake.rejectionReason(for: try Self.response(lines.filter { !$0.isEmpty })) != nil)
    }

    @Test func `H-17 an extended CONNECT is a handshake as over HTTP/1.1`() throws {
        let builder = FieldSection.get(
            "",
            [":protocol: websocket", "sec-websocket-version: 13", "origin: https://a"],
            method: "CONNECT",
            endsStream: false
        )
        let taking = HTTP2RequestHeadBuilder(isSecure: true, takesWebSockets: true)
        let head = try builder.head(by: taking)
        #expect(head.isExtendedConnect && head.method == .get && head.framing == .none)
        let handshake = try WebSocketHandshake(of: head) { Self.key }
        #expect(handshake.key == Self.key && !handshake.isKeyOfClient)
        let refusing = HTTP2RequestHeadBuilder(isSecure: true)
        #expect(throws: HTTP2FieldsRejection.self) { try builder.head(by: refusing) }
    }

    @Test(arguments: [
        ([":protocol: connect-udp"], "CONNECT", false), ([":protocol: websocket"], "GET", false),
        ([":protocol: websocket", ":protocol: websocket"], "CONNECT", false),
        ([":protocol: websocket"], "CONNECT", true),
        ([":protocol: websocket", "content-length: 5"], "CONNECT", false), ([":protocol: WebSocket"], "CONNECT", false),
    ])
    func `H-17 every other extended CONNECT is rejected`(lines: [String], method: String, endsStream: Bool) {
        let taking = HTTP2RequestHeadBuilder(isSecure: true, takesWebSockets: true)
        let builder = FieldSection.get("", lines, method: method, endsStream: endsStream)
        #expect(throws: HTTP2FieldsRejection.self) { try builder.head(by: taking) }
    }
}
