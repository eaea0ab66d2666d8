// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
internal import GateCore
internal import GateHTTP
internal import GateHeaders
internal import GateRuntime
internal import GateWire
internal import HTTPTypes

/// A request of a proxy that asks whether a request from a client may pass.
///
/// What it asks about becomes a head of its own, parsed as one from a client, so that a ``Decider`` decides about it as
/// about any other. Only the fields of the configured dialect are read: those of another one may be the client's own.
struct ForwardAuthRequest {
    /// The request that the proxy asks about.
    let original: RequestHead
    /// Whether it asks for a WebSocket.
    let opensWebSocket: Bool
    /// What the proxy does with the response.
    let use: Use
    /// The request of the proxy.
    let asking: RequestHead
    private let dialect: ForwardAuthDialect
    let endpoints: EndpointPrefix

    /// What a proxy does with the response.
    enum Use {
        /// It takes the status and the fields: 2xx lets the request pass, 401 and 403 do not, any other is its own 500.
        case status
        /// It shows the client the response unless that is 2xx.
        case response
        /// It shows the client the response, because it has rejected the request.
        case rejection
    }

    /// Whether a request is one of a proxy that asks at a path.
    ///
    /// The target counts as it was received: Envoy appends the path of its client, whose dots must not lead elsewhere.
    static func isAsked(by request: RequestHead, at path: String) -> Bool {
        let target = request.receivedTarget
        let path = path.utf8
        guard target.starts(with: path) else { return false }
        return target.count == path.count || [0x2F, 0x3F].contains(target[path.count])
    }

    /// What a proxy of a dialect asks in a request.
    ///
    /// - Throws: A failure that names what is missing or malformed.
    init(of request: RequestHead, in dialect: ForwardAuthDialect, for runtime: RuntimeConfiguration) throws(Failure) {
        let path = runtime.hosts.forwardAuthPath
        guard !request.isExtendedConnect else { throw Failure(.forwardAuthRequest, "a CONNECT") }
        let asked = try OriginalLine(of: request, in: dialect, below: path)
        self.use = ForwardAuthRequest.use(request, dialect, at: path)
        // Below it a client may have chosen the path, which another proxy took for one of ours.
        // Caddy keeps the query of its client.
        let isExact = request.receivedTarget.prefix { $0 != 0x3F }.elementsEqual(path.utf8)
        guard isExact || [.envoy, .envoyGRPC].contains(dialect) || self.use == .rejection else {
            throw Failure(.forwardAuthRequest, "the path is not \(path)")
        }
        self.asking = request
        self.dialect = dialect
        self.endpoints = runtime.hosts.endpoints
        self.opensWebSocket =
            WebSocketHandshake.isRequested(by: request)
            || request.message.fields.contains { field in
                // Proxies keep `Upgrade` for themselves.
                ["sec-websocket-key", "sec-websocket-version"].contains { request.message.spells(field.nameRange, $0) }
            }
        do throws(WireRejection) {
            self.original = try request.original(
                method: asked.method,
                target: asked.target,
                host: asked.host,
                names: runtime.fieldNames
            )
        } catch {
            throw Failure(error.reason, "of the request that the proxy asks about")
        }
        guard self.original.isPathAsReceived else {
            throw Failure(
                .forwardAuthURL,
                "the path is not in its canonical spelling, and the proxy would forward it so"
            )
        }
    }

    /// What a proxy of a dialect does with the response to a request.
    ///
    /// nginx shows clients nothing of the response to `auth_request`, and gets the response for the client below its path.
    static func use(_ request: RequestHead, _ dialect: ForwardAuthDialect, at path: String) -> Use {
        guard dialect == .nginx else { return .response }
        return request.receivedTarget.elementsEqual("\(path)/response".utf8) ? .rejection : .status
    }

    /// The host of the request that a proxy asks about, whatever the rest of it is; nil if it has none.
    static func host(
        of request: RequestHead,
        in dialect: ForwardAuthDialect,
        for runtime: RuntimeConfiguration
    ) -> String? {
        let path = runtime.hosts.forwardAuthPath
        guard let asked = try? OriginalLine(of: request, in: dialect, below: path) else { return nil }
        let get = Array("GET".utf8)
        let front = try? request.original(method: get, target: [0x2F], host: asked.host, names: runtime.fieldNames)
        return front?.authority.host
    }

    /// A field that only the gateway may set, which the client sent; nil if it sent none.
    ///
    /// Of a request that the gateway forwards such a field would be left out. A proxy leaves out the names that it is
    /// configured for, and passes all others to the app.
    func foreignField(
        reportsStatus: Bool,
        keeping changes: RequestChanges?,
        setByProxy own: [String] = []
    ) -> String? {
        let message = self.asking.message
        let known = reportsStatus ? ShadowComparison.fieldName : ""
        return message.fields.lazy.filter { $0.name == .managed }.map { message.text($0.nameRange).lowercased() }
            .first { !self.isSetByProxy($0) && !own.contains($0) && $0 != known && changes?.keeps($0) != true }
    }

    /// The status with which a proxy in shadow mode has decided itself, as it reports it; nil unless the field is there once.
    static func otherStatus(of request: RequestHead) -> String? {
        let message = request.message
        let fields = message.fields.filter { message.spells($0.nameRange, ShadowComparison.fieldName) }
        return fields.count == 1 ? fields.first.map { message.text($0.valueRange) } : nil
    }

    private func isSetByProxy(_ name: String) -> Bool {
        let ofConnection = ["x-forwarded-port", "x-forwarded-server", "x-real-ip"]
        return switch self.dialect {
        case .nginx: (OriginalLine.nginxNames + ofConnection).contains(name)
        case .traefik: (OriginalLine.forwardedNames + ofConnection).contains(name)
        case .caddy: OriginalLine.forwardedNames.contains(name)
        case .envoy, .envoyGRPC: name.hasPrefix("x-envoy-")
        }
    }

    /// A response as the proxy can use it.
    static func rendered(_ response: Response, for use: Use) -> Response {
        var response = response
        response.head.headerFields[.vary] = "*"
        guard use == .status else { return response }
        switch response.head.status.code {
        case 200, 401, 403, 500...: break
        default: response.head.status = .forbidden
        }
        return response
    }
}

/// The method, host and target of a request that a proxy asks about, as bytes that nothing has checked.
private struct OriginalLine {
    let method: [UInt8]
    let host: [UInt8]
    let target: [UInt8]

    static let nginxNames = ["x-original-method", "x-original-url"]
    static let forwardedNames = ["x-forwarded-method", "x-forwarded-uri"]

    /// The path at which a proxy asks comes before the client's where Envoy appends that.
    init(of request: RequestHead, in dialect: ForwardAuthDialect, below path: String) throws(Failure) {
        switch dialect {
        case .nginx:
            self.method = try OriginalLine.value("x-original-method", of: request)
            let url = try OriginalLine.value("x-original-url", of: request)
            guard let scheme = ["https://", "http://"].first(where: { url.starts(with: $0.utf8) }) else {
                throw Failure(.forwardAuthRequest, "X-Original-URL does not begin with http:// or https://")
            }
            let rest = url.dropFirst(scheme.utf8.count)
            let slash = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
            self.host = Array(rest[..<slash])
            self.target = Array(rest[slash...])
        case .traefik, .caddy:
            self.method = try OriginalLine.value("x-forwarded-method", of: request)
            self.host = try OriginalLine.value("x-forwarded-host", of: request)
            self.target = try OriginalLine.value("x-forwarded-uri", of: request)
            let scheme = try OriginalLine.value("x-forwarded-proto", of: request)
            guard ["https", "http", "wss", "ws"].contains(where: { scheme.elementsEqual($0.utf8) }) else {
                throw Failure(.forwardAuthRequest, "X-Forwarded-Proto is neither http nor https")
            }
        case .envoy, .envoyGRPC:
            self.method = Array(request.method.rawValue.utf8)
            self.host = Array(request.authority.text.utf8)
            self.target = Array(request.receivedTarget.dropFirst(path.utf8.count))
        }
    }

    /// The value of a field that the proxy has to send exactly once.
    private static func value(_ name: String, of request: RequestHead) throws(Failure) -> [UInt8] {
        let fields = request.message.fields.filter { request.message.spells($0.nameRange, name) }
        guard let field = fields.first else { throw Failure(.forwardAuthRequest, "the proxy sends no \(name)") }
        guard fields.count == 1 else { throw Failure(.forwardAuthRequest, "\(name) is there \(fields.count) times") }
        return Array(request.message.slice(field.valueRange))
    }
}
