// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
internal import GateCore
internal import GateHTTP
internal import GateHeaders
internal import GateRuntime
internal import GateWire

// What a proxy may ask about a request.
extension IngressRequest {
    /// Whether it carries a message in which Envoy asks.
    var carriesCheck: Bool {
        self.runtime.front.forwardAuth?.dialect == .envoyGRPC && CheckRequest.isCarried(by: self.head)
    }

    /// Why a proxy may not ask in this way about a request of a route; nil if it may, or if none asks.
    func objectionToQuestion(on route: RuntimeRoute) -> Failure? {
        guard let asked, let settings = self.runtime.front.forwardAuth else { return nil }
        let reportsStatus = settings.reportsStatus && route.isShadowed
        let own = self.certificateFields(of: asked)
        if let name = asked.foreignField(reportsStatus: reportsStatus, keeping: route.requestChanges, setByProxy: own) {
            let help =
                "remove it in the proxy, from the request to the gateway and from that to the app; if the app takes no "
                + "identity from it, write 'request_headers: { keep: [\(name)] }' for the app"
            return Failure(.forwardAuthHeader, "the client sent '\(name)'; \(help)")
        }
        guard route.forwardAuth == nil else { return nil }
        return Failure(.forwardAuthApp, "\(route.name) has no 'forward_auth'")
    }

    /// The names of the header with the certificate that the proxy passes on, and of that with its chain, in lower case.
    ///
    /// Where no certificate came, a chain is the client's own.
    private func certificateFields(of asked: ForwardAuthRequest) -> [String] {
        guard self.downstream.isTrusted, let policy = self.source.certificatePolicy,
            let header = policy.settings.header
        else { return [] }
        guard case .certificate? = policy.forwarded?.certificate(in: asked.asking.message) else {
            return [header.name.lowercased()]
        }
        return [header.name, header.form.chainHeader].compactMap { $0?.lowercased() }
    }
}
