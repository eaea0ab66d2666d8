// SPDX-License-Identifier: Apache-2.0

import GateAppConfiguration
import GateConfiguration
import GateCore
import GateOperations

@testable import GateIngress
@testable import GateRuntime

extension GatewayFixture {
    /// The same apps, about which a proxy of a dialect asks; `change` has the last word.
    init(
        asked dialect: ForwardAuthDialect,
        from network: String = "192.0.2.1/32",
        trusting proxies: [String] = [],
        mode: ForwardAuthMode = .enforce,
        log: RequestLog? = nil,
        sharing other: GatewayFixture? = nil,
        change: (inout AppSettings) -> Void = { _ in }
    ) throws {
        let from = [network].compactMap { CIDRRange($0) }
        let settings = ForwardAuthSettings(dialect: dialect, from: from)
        try self.init(
            trusting: proxies,
            log: log,
            sharing: other,
            forwardAuth: settings,
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
        case .envoy:
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
        ReceivedResponse(try self.received(Self.asking(dialect, start, host, lines)))
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
