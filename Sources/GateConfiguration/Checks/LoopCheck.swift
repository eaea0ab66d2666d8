// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProxy
internal import GateYAML

/// Finds apps whose upstream is this gateway, so that their requests would loop.
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
                let help = "requests would loop until they are rejected with 508; write the URL of the app"
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

/// Finds redirects that lead back to the app that sends them.
struct RedirectCheck {
    private let publicURL: Origin
    private let apps: [Named<AppDraft>]
    private let names: [String: String]

    init(apps: [Named<AppDraft>], publicURL: Origin) {
        self.publicURL = publicURL
        self.apps = apps
        let places = apps.map { ("\($0.value.host?.value ?? publicURL.host) \($0.value.path?.value ?? "/")", $0.name) }
        self.names = Dictionary(places) { first, _ in first }
    }

    /// Rejects each redirect after which a browser would be redirected in the same way.
    func check(_ reading: inout DecodingContext) {
        for app in self.apps {
            guard let redirect = app.value.redirect, let to = redirect.to, app.value.isPlaced else { continue }
            let host = app.value.host?.value ?? self.publicURL.host
            let own = Origin(scheme: self.publicURL.scheme, host: host, port: self.publicURL.port)
            guard to.value.origin == own,
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
        guard destination != "/oauth2", !destination.hasPrefix("/oauth2/") else { return nil }
        var path = destination[...]
        while let slash = path.lastIndex(of: "/") {
            if let name = self.names["\(host) \(path)"] { return name }
            path = path[..<slash]
        }
        return self.names["\(host) /"]
    }
}
