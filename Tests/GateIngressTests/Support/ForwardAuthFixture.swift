// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GateFixtures
import GateOperations
import GateProviders
import GateWire
import Testing

@testable import GateHeaders
@testable import GateIngress
@testable import GateRuntime

extension GatewayFixture {
    /// The same apps, about which a proxy of a dialect asks; `change` has the last word.
    init(
        asked dialect: ForwardAuthDialect,
        from network: String = "192.0.2.1/32",
        trusting proxies: [String] = [],
        mode: ForwardAuthMode = .enforce,
        reportsStatus: Bool = false,
        log: RequestLog? = nil,
        sharing other: GatewayFixture? = nil,
        serviceTokens: [ServiceTokenSettings] = [],
        more: [AppSettings] = [],
        change: (inout AppSettings) -> Void = { _ in }
    ) throws {
        let from = [network].compactMap { CIDRRange($0) }
        let settings = ForwardAuthSettings(dialect: dialect, from: from, reportsStatus: reportsStatus)
        try self.init(
            trusting: proxies,
            log: log,
            sharing: other,
            forwardAuth: settings,
            serviceTokens: serviceTokens,
            more: more,
            app: { app in
                app.action = .forwardAuth(mode)
                app.traffic.webSocket = WebSocketSettings()
                change(&app)
            }
        )
    }

    /// What a proxy of a dialect sends to ask about a request of a client.
    static func asking(_ dialect: ForwardAuthDialect, _ start: String, _ host: String, _ lines: String = "") -> String {
        let parts = start.split(separator: " ", maxSplits: 1)
        let (method, target) = (parts[0], parts[1])
        let forwarded = """
            X-Forwarded-Method: \(method)\r
            X-Forwarded-Proto: https\r
            X-Forwarded-Host: \(host)\r
            X-Forwarded-Uri: \(target)\r

            """
        return switch dialect {
        case .nginx:
            "GET /oauth2/auth HTTP/1.1\r\nHost: internal\r\nX-Original-Method: \(method)\r\n"
                + "X-Original-URL: https://\(host)\(target)\r\n\(lines)\r\n"
        case .traefik:
            "GET /oauth2/auth HTTP/1.1\r\nHost: internal\r\n\(forwarded)X-Forwarded-Port: 443\r\n\(lines)\r\n"
        case .caddy: "GET /oauth2/auth HTTP/1.1\r\nHost: \(host)\r\n\(forwarded)\(lines)\r\n"
        case .envoy, .envoyGRPC:
            "\(method) /oauth2/auth\(target) HTTP/1.1\r\nHost: \(host)\r\nX-Envoy-Internal: true\r\n\(lines)\r\n"
        }
    }

    /// What the proxy receives.
    func asked(
        _ dialect: ForwardAuthDialect,
        _ start: String,
        _ host: String,
        _ lines: String = ""
    ) throws -> ReceivedResponse {
        guard dialect != .envoyGRPC else { return try self.checked(start, host, lines) }
        return ReceivedResponse(try self.received(Self.asking(dialect, start, host, lines)))
    }

    /// What Envoy makes of the response to a message about a request.
    private func checked(_ start: String, _ host: String, _ lines: String) throws -> ReceivedResponse {
        let body = Self.check(start, host, lines)
        let head = "POST /envoy.service.auth.v3.Authorization/Check HTTP/1.1\r\nHost: gatehouse\r\n"
        let fields = "Content-Type: application/grpc\r\nTE: trailers\r\nContent-Length: \(body.count)\r\n\r\n"
        let received = try self.received(Array((head + fields).utf8) + body)
        let end = try #require(received.firstRange(of: [0x0D, 0x0A, 0x0D, 0x0A]))
        guard received.count > end.upperBound else {
            return ReceivedResponse("HTTP/1.1 503 \r\n\(String(decoding: received, as: UTF8.self))")
        }
        return ReceivedResponse(try DecodedCheck(received[end.upperBound...]).text)
    }

    /// The body of a call of Envoy: a message about a request, with its length.
    static func check(_ start: String, _ host: String, _ lines: String) -> [UInt8] {
        let parts = start.split(separator: " ", maxSplits: 1)
        let fields = [":authority: \(host)"] + lines.split(separator: "\r\n").map(String.init)
        var message = ProtobufWriter()
        message.message(1) { attributes in
            attributes.message(4) { request in
                request.message(2) { http in
                    http.bytes(2, parts[0].utf8)
                    http.bytes(4, parts[1].utf8)
                    http.bytes(5, host.utf8)
                    http.message(13) { map in
                        for field in fields {
                            let colon = field.dropFirst().firstIndex(of: ":") ?? field.endIndex
                            map.message(1) {
                                $0.bytes(1, field[..<colon].utf8)
                                $0.bytes(3, field[colon...].dropFirst().drop { $0 == " " }.utf8)
                            }
                        }
                    }
                }
            }
        }
        let count = UInt32(message.bytes.count)
        return [0] + (0..<4).reversed().map { UInt8(truncatingIfNeeded: count >> (8 * $0)) } + message.bytes
    }
}

/// A `CheckResponse` as the response of HTTP that Envoy makes of it.
struct DecodedCheck {
    private(set) var text = ""

    /// Reads a message with its length.
    init(_ bytes: ArraySlice<UInt8>) throws {
        var reader = ProtobufReader(bytes.dropFirst(5))
        while let field = try reader.next() {
            guard field.number == 2 || field.number == 3 else { continue }
            try self.read(try field.value.bytes(of: "response"), isDenial: field.number == 2)
        }
    }

    private mutating func read(_ message: ArraySlice<UInt8>, isDenial: Bool) throws {
        var (status, lines, body) = (isDenial ? 0 : 200, "", "")
        var reader = ProtobufReader(message)
        while let field = try reader.next() {
            let bytes = try field.value.bytes(of: "response")
            switch field.number {
            case 1:
                var reader = ProtobufReader(bytes)
                if case .number(let code)? = try reader.next()?.value { status = Int(code) }
            case 2, 6: lines += "\(try Self.line(bytes))\r\n"
            case 3: body = String(decoding: bytes, as: UTF8.self)
            case 5: lines += "\(String(decoding: bytes, as: UTF8.self)): \r\n"
            default: Issue.record("field \(field.number)")
            }
        }
        self.text = "HTTP/1.1 \(status) \r\n\(lines)\r\n\(body)"
    }

    private static func line(_ option: ArraySlice<UInt8>) throws -> String {
        var option = ProtobufReader(option)
        let header = try #require(try option.next())
        var reader = ProtobufReader(try header.value.bytes(of: "header"))
        var sides: [String] = []
        while let side = try reader.next() {
            sides.append(String(decoding: try side.value.bytes(of: ""), as: UTF8.self))
        }
        return sides.joined(separator: ": ")
    }
}

/// A response as its bytes.
struct ReceivedResponse {
    let status: Int
    let text: String
    private let lines: [Substring]

    init(_ text: String) {
        self.text = text
        let head = text.firstRange(of: "\r\n\r\n").map { text[..<$0.lowerBound] } ?? text[...]
        self.lines = head.split(separator: "\r\n")
        self.status = lines.first.flatMap { Int($0.split(separator: " ")[1]) } ?? 0
    }

    /// The value of a field, by its name in lower case.
    subscript(name: String) -> String? {
        let found = self.lines.dropFirst().first { $0.lowercased().hasPrefix("\(name):") }
        return found.map { String($0.dropFirst(name.count + 1).drop { $0 == " " }) }
    }

    /// The code of a failure that a script is shown.
    var code: String? { self.text.firstMatch(of: /"error":"([^"]+)"/).map { String($0.1) } }
}
