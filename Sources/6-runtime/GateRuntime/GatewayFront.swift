// SPDX-License-Identifier: Apache-2.0

package import GateConfiguration
package import GateCore
package import GateHTTP

/// What is in front of the gateway: proxies, load balancers, and the certificates that clients present.
package struct GatewayFront: Sendable {
    /// The proxies whose `X-Forwarded-For` is trusted.
    package let trustedProxies: [CIDRRange]
    /// The proxies that may ask for decisions; nil if none may.
    package let forwardAuth: ForwardAuthSettings?
    /// The path of health checks on the listeners for requests; nil if it is off.
    package let healthPath: String?
    /// The certificates that clients present, by the address of each listener for requests: nil for one that asks for none.
    let clientCertificates: [BindAddress: ClientCertificatePolicy?]

    /// What the configuration has of it.
    package init(
        trustedProxies: [CIDRRange] = [],
        forwardAuth: ForwardAuthSettings? = nil,
        healthPath: String? = nil,
        clientCertificates: [BindAddress: ClientCertificatePolicy?] = [:]
    ) {
        self.trustedProxies = trustedProxies
        self.forwardAuth = forwardAuth
        self.healthPath = healthPath
        self.clientCertificates = clientCertificates
    }

    /// The certificates that clients of a listener present; nil if it asks for none.
    ///
    /// - Parameters:
    ///   - listener: The address of the listener.
    ///   - known: What holds for a listener that the configuration does not have any more, but that serves until a restart.
    /// - Returns: The policy.
    package func clientCertificates(
        at listener: BindAddress?,
        otherwise known: ClientCertificatePolicy?
    ) -> ClientCertificatePolicy? {
        guard known != nil || !self.clientCertificates.isEmpty else { return nil }
        return listener.flatMap { self.clientCertificates[$0] } ?? known
    }

    /// The authorities of certificates of clients, as pages name them.
    package var certificateIssuers: String {
        var names: [String] = []
        for policy in self.clientCertificates.values.compactMap(\.self) {
            names += policy.issuers.filter { !names.contains($0) }
        }
        return names.sorted().prefix(5).joined(separator: "; ")
    }
}
