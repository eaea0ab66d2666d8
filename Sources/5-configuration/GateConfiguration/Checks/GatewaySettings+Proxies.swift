// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension GatewaySettings {
    /// Why all clients seem to be one; nil if each has its own IP.
    ///
    /// Whatever terminates TLS for a gateway without a TLS listener is the peer of all connections.
    package var missingProxies: String? {
        guard self.publicURL.isSecure, self.trustedProxies.isEmpty else { return nil }
        let namesClients = self.listeners.contains { listener in
            !listener.certificates.isEmpty || listener.trustsPeers || !listener.proxyProtocol.isEmpty
        }
        guard !namesClients else { return nil }
        let effect = "all clients have the IP of the proxy that terminates TLS, and share its limits"
        return "no listener has TLS and 'trusted_proxies' is empty, so \(effect); list the proxy, such as 127.0.0.1"
    }
}
