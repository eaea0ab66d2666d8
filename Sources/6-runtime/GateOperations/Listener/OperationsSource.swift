// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateHTTP
package import GateWire
internal import HTTPTypes

/// A condition that the gateway has to meet to be ready.
package struct ReadinessCheck: Sendable {
    /// Its name, such as `draining`.
    package let name: String
    /// Why it is not met, in one word; nil if it is.
    package let failure: String?

    package init(_ name: String, failure: String?) {
        self.name = name
        self.failure = failure
    }
}

/// What the operations endpoints report; the gateway implements it.
package protocol OperationsSource: Sendable {
    /// The event loops that have not ticked for five seconds.
    func stuckLoops() -> [Int]
    /// Whether the gateway has begun to serve.
    func hasStarted() -> Bool
    /// What decides whether new clients should come here.
    func readiness() -> [ReadinessCheck]
    func metrics(as format: MetricsFormat) async -> [UInt8]
    /// The state of the gateway.
    func status() async -> JSON
    /// The same as a page for users, and what it refers to; nil for any other path.
    func page(at path: String) async -> Response?
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
            let stuck = self.stuckLoops()
            let failure = stuck.isEmpty ? nil : "an event loop is stuck"
            return self.report([ReadinessCheck("event_loops", failure: failure)], as: "alive", to: request)
        case "/startupz":
            let failure = self.hasStarted() ? nil : "starting"
            return self.report([ReadinessCheck("started", failure: failure)], as: "started", to: request)
        case "/readyz": return self.report(self.readiness(), as: "ready", to: request)
        case "/metrics":
            let format = MetricsFormat(accept: self.accept(request))
            return Response(200, fields: [.contentType: format.contentType], body: await self.metrics(as: format))
        case "/status":
            var response: Response
            if self.prefersPage(request), let page = await self.page(at: "/status") {
                response = page
            } else {
                let text = await self.status().pretty() + "\n"
                response = Response(200, fields: [.contentType: "application/json"], body: Array(text.utf8))
            }
            response.head.headerFields[.vary] = "Accept"
            return response
        case let path where path.hasPrefix("/status/"): return await self.page(at: path) ?? self.notFound
        default: return self.notFound
        }
    }

    /// The result of some checks: 200 or 503, with the first failure as text, or all checks as JSON.
    private func report(_ checks: [ReadinessCheck], as name: String, to request: RequestHead) -> Response {
        let failure = checks.lazy.compactMap(\.failure).first
        let status = failure == nil ? 200 : 503
        let isVerbose = Form(encoded: request.queryText ?? "")?["verbose"] != nil
        guard isVerbose || self.accept(request)?.lowercased().contains("application/json") == true else {
            return .text(status, "\(failure ?? "ok")\n")
        }
        let list = checks.map { check in
            [
                "name": .string(check.name), "ok": .bool(check.failure == nil),
                "failure": check.failure.map { .string($0) } ?? .null,
            ] as JSON
        }
        let text = (["version": .int(1), name: .bool(failure == nil), "checks": .array(list)] as JSON).pretty() + "\n"
        return Response(status, fields: [.contentType: "application/json"], body: Array(text.utf8))
    }

    private var notFound: Response {
        .text(404, "there are /livez /readyz /startupz /healthz /ping /metrics /status here\n")
    }

    /// Whether a browser asks: it names HTML, which `*/*` of a script does not, and not JSON before it.
    private func prefersPage(_ request: RequestHead) -> Bool {
        var quality: [Substring: Double] = [:]
        for range in self.accept(request)?.lowercased().split(separator: ",").prefix(16) ?? [] {
            let parts = range.split(separator: ";").map { $0.drop { $0 == " " }.prefix { $0 != " " } }
            guard let type = parts.first else { continue }
            quality[type] = parts.lazy.filter { $0.hasPrefix("q=") }.compactMap { Double($0.dropFirst(2)) }.first ?? 1
        }
        let html = quality["text/html"] ?? 0
        return html > 0 && html >= quality["application/json"] ?? 0
    }

    private func accept(_ request: RequestHead) -> String? { request.message.value(.accept) }

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
