// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProxy
internal import GateWire
internal import GateYAML

/// Finds apps whose upstream is this gateway, so that their requests would loop.
struct LoopCheck {
    private let listeners: [BindAddress]
    private let origins: OriginSet
    private let scheme: String
    private let apps: [Named<AppDraft>]

    init(_ gateway: GatewaySettings, apps: [Named<AppDraft>]) {
        self.listeners = gateway.listeners.map(\.address)
        let own = gateway.publicURL
        let hosts = apps.flatMap { $0.value.hosts?.value ?? [] }.map(\.value)
        self.origins = OriginSet(own, hosts: hosts + [.exact(own.host)])
        self.scheme = own.scheme
        self.apps = apps
    }

    /// Warns of each such app.
    func check(_ reading: inout DecodingContext) {
        for app in self.apps {
            guard let upstream = app.value.upstream, let mark = app.value.upstreamMark else { continue }
            for target in upstream.targets where self.leadsBack(target) {
                let help = "requests would loop until they are rejected with 508; write the URL of the app"
                reading.warning("'\(target)' is this gateway itself, so \(help)", at: mark)
            }
        }
    }

    private func leadsBack(_ target: UpstreamTarget) -> Bool {
        if case .unix(let path) = target.place { return self.listeners.contains { $0.path == path } }
        guard let origin = target.origin else { return false }
        let isOwn =
            origin.scheme == self.scheme && origin.port == self.origins.port && self.origins.contains(origin.host)
        return isOwn || self.listeners.contains { self.accepts($0, origin) }
    }

    private func accepts(_ listener: BindAddress, _ origin: Origin) -> Bool {
        guard listener.port == origin.port else { return false }
        let host = origin.host.hasPrefix("[") ? String(origin.host.dropFirst().dropLast()) : origin.host
        return listener.host == host || (origin.isLoopback && (listener.isWildcard || listener.isLoopback))
    }
}

/// Finds redirects that lead back to the app that sends them.
struct RedirectCheck {
    private let publicURL: Origin
    private let endpoints: EndpointPrefix
    private let apps: [Named<AppDraft>]
    private let names: [String: String]
    /// The hosts that are not part of a wildcard, since apps name them.
    private let hosts: Set<String>

    init(apps: [Named<AppDraft>], publicURL: Origin, endpoints: EndpointPrefix) {
        self.publicURL = publicURL
        self.endpoints = endpoints
        self.apps = apps
        var names: [String: String] = [:]
        var hosts: Set<String> = [publicURL.host]
        for app in apps {
            let path = app.value.path?.value ?? "/"
            for host in (app.value.hosts?.value ?? []).map(\.value)
                + (app.value.hosts == nil ? [.exact(publicURL.host)] : [])
            {
                let place = "\(host) \(path)"
                names[place] = names[place] ?? app.name
                if case .exact(let name) = host { hosts.insert(name) }
            }
        }
        self.names = names
        self.hosts = hosts
    }

    /// Rejects each redirect after which a browser would be redirected in the same way.
    func check(_ reading: inout DecodingContext) {
        for app in self.apps {
            guard let redirect = app.value.redirect, let to = redirect.to, app.value.isPlaced else { continue }
            let host = to.value.origin.host
            guard to.value.origin == self.publicURL.with(host: host),
                self.app(on: host, at: self.destination(of: app.value, redirect, to.value)) == app.name
            else { continue }
            let help = "a browser would be redirected in a loop; write another URL"
            reading.error("'\(to.value)' leads back to this app, so \(help)", at: to.mark)
        }
    }

    /// The path that a request for the app's own path is redirected to.
    private func destination(of app: AppDraft, _ redirect: RedirectDraft, _ to: WebURL) -> String {
        guard redirect.keepsPath, !app.traffic.stripsPrefix, let path = app.path?.value, path != "/" else {
            return to.path
        }
        return (to.path.hasSuffix("/") ? String(to.path.dropLast()) : to.path) + path
    }

    /// The app with the longest path that the destination is below, by whole segments; nil for the gateway's own.
    private func app(on host: String, at destination: String) -> String? {
        guard !self.endpoints.owns(destination, isGatewayHost: host == self.publicURL.host) else { return nil }
        let host = self.hosts.contains(host) ? host : HostPattern.domain(of: host).map { "*.\($0)" } ?? host
        var path = destination[...]
        while let slash = path.lastIndex(of: "/") {
            if let name = self.names["\(host) \(path)"] { return name }
            path = path[..<slash]
        }
        return self.names["\(host) /"]
    }
}
