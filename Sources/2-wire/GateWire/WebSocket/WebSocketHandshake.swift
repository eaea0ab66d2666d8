// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// The opening handshake of a WebSocket client that has passed every check.
///
/// RFC 6455 §4.2.1, RFC 8441 §5.
package struct WebSocketHandshake: Sendable, Hashable {
    /// Why a handshake is rejected.
    package enum Rejection: Error, Sendable, Hashable {
        /// It is malformed or incomplete; the text is for the log.
        case malformed(String)
        /// The version is not 13.
        case version
    }

    /// The key that is sent to the app: the client's, or over HTTP/2 a generated one.
    package let key: String
    /// Whether the client sent the key, so that its head contains it.
    package let isKeyOfClient: Bool
    /// The subprotocols that the client offers.
    package let protocols: [String]
    /// The names of the extensions that the client offers.
    package let extensions: [String]

    /// Whether a request asks for a WebSocket, with a valid or an invalid handshake.
    ///
    /// A handshake without the option in `Connection` is invalid: a proxy in front of the gateway has removed the
    /// option.
    package static func isRequested(by request: RequestHead) -> Bool {
        guard !request.isExtendedConnect else { return true }
        let message = request.message
        return message.fields.contains { field in
            field.name == .upgrade && message.text(field.valueRange).lowercased().contains("websocket")
        }
    }

    /// Checks a handshake; over HTTP/2, which has no key, one is generated.
    package init(of request: RequestHead, freshKey: () -> String = { WebSocketKey.fresh() }) throws(Rejection) {
        let message = request.message
        guard request.method == .get, request.minorVersion == 1 else { throw .malformed("not GET of HTTP/1.1") }
        // Some clients write a length of 0, which is not forwarded.
        guard request.framing == .none else { throw .malformed("a body") }
        if !request.isExtendedConnect {
            guard message.count(.upgrade) == 1, let upgrade = message.first(.upgrade),
                message.spells(upgrade.valueRange, "websocket")
            else { throw .malformed("Upgrade is not 'websocket' alone") }
            guard message.hasConnectionOption("upgrade") else { throw .malformed("Connection has no 'upgrade'") }
        }
        let versions = message.values("sec-websocket-version")
        guard versions.count <= 1 else { throw .malformed("several versions") }
        guard let version = versions.first else { throw .malformed("no version") }
        guard version == "13" else { throw .version }
        let keys = message.values("sec-websocket-key")
        if request.isExtendedConnect {
            guard keys.isEmpty else { throw .malformed("a key over HTTP/2") }
        } else {
            guard keys.count == 1, keys.allSatisfy(WebSocketKey.isValid) else { throw .malformed("no key of 16 bytes") }
        }
        self.key = keys.first ?? freshKey()
        self.isKeyOfClient = !keys.isEmpty
        self.protocols = message.values("sec-websocket-protocol").flatMap(WebSocketHandshake.elements)
        self.extensions = message.values("sec-websocket-extensions").flatMap(WebSocketHandshake.names)
    }

    /// Why the app's `101` does not match the handshake; nil if the tunnel may begin.
    ///
    /// RFC 6455 §4.1.
    package func rejectionReason(for response: ResponseHead) -> String? {
        let message = response.message
        guard response.status == 101 else { return "the status is \(response.status)" }
        guard message.count(.upgrade) == 1, let upgrade = message.first(.upgrade),
            message.spells(upgrade.valueRange, "websocket")
        else { return "Upgrade is not 'websocket' alone" }
        guard message.hasConnectionOption("upgrade") else { return "Connection has no 'upgrade'" }
        guard message.values("sec-websocket-accept") == [WebSocketKey.accept(self.key)] else {
            return "Sec-WebSocket-Accept does not match the key"
        }
        let chosen = message.values("sec-websocket-protocol")
        guard chosen.count <= 1, chosen.allSatisfy(self.protocols.contains) else { return "a subprotocol not offered" }
        let agreed = message.values("sec-websocket-extensions").flatMap(WebSocketHandshake.names)
        guard agreed.allSatisfy(self.extensions.contains) else { return "an extension not offered" }
        // RFC 9110 §8.6: a length has no place here; one of 0 is what some servers write for all responses.
        let hasLength = message.fields.contains { $0.name == .contentLength && !message.spells($0.valueRange, "0") }
        guard !hasLength, message.first(.transferEncoding) == nil else { return "a body" }
        return nil
    }

    private static func elements(_ list: String) -> [String] {
        list.split(separator: ",").map { $0.trimmingOptionalSpace() }.filter { !$0.isEmpty }
    }

    /// The names of a list of extensions, without their parameters.
    private static func names(_ list: String) -> [String] {
        self.elements(list).map { $0.prefix { $0 != ";" }.trimmingOptionalSpace() }
    }
}

extension MessageHead {
    /// The values of all fields of a name without a meaning to the gateway.
    fileprivate func values(_ lowerCase: String) -> [String] {
        self.fields.filter { $0.name == .other && self.spells($0.nameRange, lowerCase) }.map {
            self.text($0.valueRange)
        }
    }
}
