// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Checks what concerns several keys of `gateway`, and warns of values that can hardly be meant.
struct GatewayCheck {
    let gateway: GatewayDraft

    /// Reports everything there is.
    func check(_ reading: inout DecodingContext) {
        self.checkListeners(&reading)
        self.checkRedirects(&reading)
        self.warnOfPlainListeners(&reading)
        self.warnOfPublicOperations(&reading)
        for network in self.gateway.trustedProxies ?? [] { self.checkTrust(in: network, &reading) }
        for network in self.gateway.listeners?.value.flatMap({ $0.proxyProtocol ?? [] }) ?? []
        where network.value.prefix == 0 {
            let risk = "every client that reaches the listener can claim any client IP"
            let help = "list your balancers"
            reading.warning("a PROXY header is believed from everywhere, so \(risk); \(help)", at: network.mark)
        }
    }

    /// No address twice, and the operations on none of the listeners.
    private func checkListeners(_ reading: inout DecodingContext) {
        if let listeners = self.gateway.listeners, listeners.value.isEmpty {
            reading.error("'listeners' is empty; remove it for 127.0.0.1:8080, or list an address", at: listeners.mark)
        }
        guard (self.gateway.listeners?.value.count ?? 0) <= 64 else {
            let mark = self.gateway.listeners?.mark ?? .start
            return reading.error("more than 64 listeners", at: mark)
        }
        let standard = GatewaySettings.defaultListener
        let addresses = self.gateway.listeners?.value.compactMap(\.address) ?? [Located(value: standard, mark: .start)]
        for (index, address) in addresses.enumerated() {
            guard let first = addresses[..<index].first(where: { $0.value.collides(with: address.value) }) else {
                continue
            }
            let message = "'\(address.value)' is taken by the listener in line \(first.mark.line)"
            reading.error(message, at: address.mark)
        }
        let operations = self.gateway.operations?.value ?? GatewaySettings.defaultOperations
        guard let taken = addresses.first(where: { $0.value.collides(with: operations) }) else { return }
        let message = "'\(operations)' cannot be both a listener and the operations address, which is never public"
        reading.error(message, at: self.gateway.operations?.mark ?? taken.mark)
    }

    private func checkRedirects(_ reading: inout DecodingContext) {
        guard let publicURL = self.gateway.publicURL?.value, !publicURL.isSecure else { return }
        for redirect in (self.gateway.listeners?.value ?? []).compactMap(\.redirect) {
            reading.error("a redirect to https needs a 'public_url' with https, not '\(publicURL)'", at: redirect.mark)
        }
    }

    /// Beside TLS, what is open to all is served without it as well, and whoever is on the way reads and changes it.
    private func warnOfPlainListeners(_ reading: inout DecodingContext) {
        let listeners = self.gateway.listeners?.value ?? []
        guard listeners.contains(where: { $0.certificates != nil }) else { return }
        for listener in listeners where listener.certificates == nil && listener.redirect == nil {
            guard let address = listener.address, !address.value.isLoopback else { continue }
            let help = "add 'redirect: https', or listen on 127.0.0.1"
            let message = "'\(address.value)' serves plain HTTP beside a listener with TLS"
            reading.warning("\(message); \(help)", at: address.mark)
        }
    }

    private func warnOfPublicOperations(_ reading: inout DecodingContext) {
        guard let operations = self.gateway.operations, let ip = IPAddress(operations.value.host) else { return }
        guard !CIDRRange.internalNetworks.contains(where: { $0.contains(ip) }) else { return }
        let reach = operations.value.isWildcard ? "on every interface" : "on a public address"
        let help = "listen on 127.0.0.1 or an internal address, or make sure that only your monitoring reaches it"
        reading.warning(
            "'\(operations.value)' serves metrics and status \(reach) to everybody who asks; \(help)",
            at: operations.mark
        )
    }

    private func checkTrust(in network: Located<CIDRRange>, _ reading: inout DecodingContext) {
        let help = "list the networks of your proxies, such as 10.0.0.0/8"
        if network.value.prefix == 0 {
            let risk = "every client would be trusted to claim any client IP, scheme and host"
            reading.error("\(risk); \(help)", at: network.mark)
        } else if network.value.prefix < (network.value.isIPv4 ? 8 : 16) {
            reading.warning("so large a network is hardly one of your own proxies; \(help)", at: network.mark)
        }
    }
}

extension BindAddress {
    /// Whether only this machine reaches it.
    var isLoopback: Bool {
        Origin(scheme: "http", host: self.host.contains(":") ? "[\(self.host)]" : self.host)?.isLoopback ?? false
    }

    /// Whether it stands for all addresses of its family.
    var isWildcard: Bool { self.host == "0.0.0.0" || self.host == "::" }
}

/// Finds apps whose upstream is this gateway, so that their requests would come back.
struct LoopCheck {
    private let listeners: [BindAddress]
    private let origins: Set<Origin>
    private let apps: [Named<AppDraft>]

    init(_ gateway: GatewaySettings, apps: [Named<AppDraft>]) {
        self.listeners = gateway.listeners.map(\.address)
        let own = gateway.publicURL
        let hosts = apps.compactMap { $0.value.host?.value } + [own.host]
        self.origins = Set(hosts.compactMap { Origin(scheme: own.scheme, host: $0, port: own.port) })
        self.apps = apps
    }

    /// Warns of each such app.
    func check(_ reading: inout DecodingContext) {
        for app in self.apps {
            guard let upstream = app.value.upstream, let mark = app.value.upstreamMark else { continue }
            for target in upstream.targets where self.leadsBack(target) {
                let help = "requests would come back until they are rejected with 508; write the app's own address"
                reading.warning("'\(target)' is this gateway itself, so \(help)", at: mark)
            }
        }
    }

    private func leadsBack(_ target: UpstreamTarget) -> Bool {
        guard let origin = target.origin else { return false }
        return self.origins.contains(origin) || self.listeners.contains { self.accepts($0, origin) }
    }

    private func accepts(_ listener: BindAddress, _ origin: Origin) -> Bool {
        guard listener.port == origin.port else { return false }
        let host = origin.host.hasPrefix("[") ? String(origin.host.dropFirst().dropLast()) : origin.host
        return listener.host == host || (origin.isLoopback && (listener.isWildcard || listener.isLoopback))
    }
}
