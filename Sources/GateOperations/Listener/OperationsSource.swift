// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateHTTP
package import GateWire
internal import HTTPTypes

/// What the operations endpoints report; the gateway implements it.
package protocol OperationsSource: Sendable {
    /// Whether every event loop still runs what it is given.
    func isAlive() async -> Bool
    /// Why new clients should go elsewhere, in one word; nil if the gateway is ready.
    func notReady() -> String?
    /// All metrics in the Prometheus text format.
    func metrics() async -> String
    /// The state of the gateway.
    func status() async -> JSON
    /// Whether the configuration names a host for the operations listener.
    func allowsHost(_ host: String) -> Bool
}

extension OperationsSource {
    /// The response to a request for one of the endpoints: liveness, readiness, metrics and status.
    package func response(to request: RequestHead) async -> Response {
        guard self.isServed(request.authority.host) else {
            return .text(421, "this host is not configured; 'gateway.operations_hosts' lists those that are\n")
        }
        guard request.method == .get || request.method == .head else { return .text(405, "only GET works here\n") }
        switch request.path.text(in: request.message) {
        case "/ping": return .text(200, "pong\n")
        case "/livez", "/healthz":
            return await self.isAlive() ? .text(200, "ok\n") : .text(503, "an event loop is stuck\n")
        case "/readyz": return self.notReady().map { .text(503, "\($0)\n") } ?? .text(200, "ok\n")
        case "/metrics":
            let fields: HTTPFields = [.contentType: "text/plain; version=0.0.4; charset=utf-8"]
            return Response(200, fields: fields, body: Array(await self.metrics().utf8))
        case "/status":
            let text = await self.status().pretty() + "\n"
            return Response(200, fields: [.contentType: "application/json"], body: Array(text.utf8))
        default: return .text(404, "there are /livez /readyz /healthz /ping /metrics /status here\n")
        }
    }

    /// Whether requests for a host are served: IP addresses, names of this machine, and hosts of the configuration.
    ///
    /// This stops DNS rebinding: a page of another site can make its own name resolve to this machine, but the browser
    /// still sends that name.
    package func isServed(_ host: String) -> Bool {
        guard IPAddress(host) == nil, !host.hasPrefix("[") else { return true }
        if Origin(scheme: "http", host: host)?.isLoopback ?? false { return true }
        return self.allowsHost(host)
    }
}
