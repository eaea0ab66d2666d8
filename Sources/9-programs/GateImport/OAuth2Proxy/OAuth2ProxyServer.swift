// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateYAML

/// Converts what concerns the gateway as a whole: its URL, listeners, proxies and sessions.
struct OAuth2ProxyServer {
    let settings: OptionSettings

    func add(to configuration: inout ImportedConfiguration, _ notes: inout ImportNotes) {
        configuration.publicURL = self.publicURL(&notes)
        self.addPrefix(to: &configuration.gateway, &notes)
        self.addListeners(to: &configuration.gateway, &notes)
        self.addProxies(to: &configuration.gateway, &notes)
        self.addSessions(to: &configuration.sessions, &notes)
        for name in ["cookie_secret", "cookie_secret_file"] {
            guard let setting = self.settings[name] else { continue }
            let help = "the gateway creates its own in 'state'; several gateways share one with 'gateway.secret'"
            notes.note("'\(name)' is not carried over; \(help)", at: setting.place)
        }
    }

    private func publicURL(_ notes: inout ImportNotes) -> Origin? {
        guard let setting = self.settings["redirect_url"], let text = setting.texts.last else { return nil }
        guard let url = WebURL(text) else {
            notes.warning("'redirect_url' is not a URL with a host; write 'public_url' by hand", at: setting.place)
            return nil
        }
        var origin = url.origin
        if !origin.isSecure, !origin.isLoopback, let secure = Origin(scheme: "https", host: origin.host) {
            notes.warning("plain http is accepted on loopback only; 'public_url' has https", at: setting.place)
            origin = secure
        }
        let callback = self.settings.endpoints.callback(
            of: OAuth2ProxyProvider(settings: self.settings).name,
            at: origin
        )
        notes.note("register the callback '\(callback)' at the provider beside this one", at: setting.place)
        return origin
    }

    /// Both have it on every host.
    private func addPrefix(to gateway: inout YAMLMapping, _ notes: inout ImportNotes) {
        guard let setting = self.settings["proxy_prefix"], let text = setting.texts.last else { return }
        guard let prefix = EndpointPrefix(text) else {
            return notes.warning("'proxy_prefix' is not a path that 'endpoint_prefix' can have", at: setting.place)
        }
        if prefix != .standard { gateway.add("endpoint_prefix", ConfigText("\(prefix)")) }
    }

    private func addListeners(to gateway: inout YAMLMapping, _ notes: inout ImportNotes) {
        var listeners: [YAMLValue] = []
        let certificate = self.settings.scalar("tls_cert_file", &notes)
        let key = self.settings.scalar("tls_key_file", &notes)
        let hasTLS = certificate != nil && key != nil
        if let socket = self.socket(&notes) {
            var listener = YAMLMapping()
            listener.add("address", socket)
            listeners.append(.mapping(listener))
        } else if let address = self.address("http_address", else: hasTLS ? nil : "127.0.0.1:4180", &notes) {
            var listener = YAMLMapping()
            listener.add("address", address)
            if hasTLS, self.settings.flag("force_https", else: false) { listener.add("redirect", .word("https")) }
            listeners.append(.mapping(listener))
        }
        if hasTLS, let address = self.address("https_address", else: ":443", &notes) {
            var files = YAMLMapping()
            files.add("certificate", certificate)
            files.add("private_key", key)
            var listener = YAMLMapping()
            listener.add("address", address)
            listener.add("tls", .list([.mapping(files)]))
            listeners.append(.mapping(listener))
        }
        gateway.add("listeners", listeners.isEmpty ? nil : .list(listeners))
        gateway.add("operations", self.address("metrics_address", else: nil, &notes))
    }

    /// The Unix socket of `http_address`, if it is one.
    private func socket(_ notes: inout ImportNotes) -> ConfigText? {
        let scheme = "unix://"
        guard let setting = self.settings["http_address"], let text = setting.texts.last, text.hasPrefix(scheme + "/")
        else { return nil }
        let help = "set 'mode' for a proxy of another user, and 'trusted' if its X-Forwarded-* count"
        notes.note("only this user may connect to the Unix socket; \(help)", at: setting.place)
        return ConfigText("unix:\(text.dropFirst(scheme.utf8.count))")
    }

    /// An address of a listener: `host:port`, with or without scheme; an empty host is every interface.
    private func address(_ name: String, else standard: String?, _ notes: inout ImportNotes) -> ConfigText? {
        guard var text = self.settings.text(name) ?? standard else { return nil }
        for scheme in ["http://", "https://"] where text.lowercased().hasPrefix(scheme) {
            text = String(text.dropFirst(scheme.count))
        }
        if text.hasPrefix(":") { text = "0.0.0.0\(text)" }
        guard let address = BindAddress(text) else {
            let place = self.settings[name]?.place
            notes.warning("'\(name)' is not host and port", at: place)
            return nil
        }
        return ConfigText(address.description)
    }

    private func addProxies(to gateway: inout YAMLMapping, _ notes: inout ImportNotes) {
        let networks = self.settings.list("trusted_proxy_ip").compactMap { CIDRRange($0) == nil ? nil : ConfigText($0) }
        gateway.add("trusted_proxies", .texts(networks))
        guard let setting = self.settings["reverse_proxy"], self.settings.flag("reverse_proxy", else: false) else {
            return
        }
        guard networks.isEmpty else { return }
        let help =
            "list the networks of your proxies in 'trusted_proxies'; until then X-Forwarded-* of all clients is removed"
        notes.warning("'reverse_proxy' trusts every client; \(help)", at: setting.place)
    }

    private func addSessions(to sessions: inout YAMLMapping, _ notes: inout ImportNotes) {
        let store = OAuth2ProxyStore(settings: self.settings)
        store.add(to: &sessions, &notes)
        let bounds = 60...(3650 * 86_400)
        let expiry = self.settings.text("cookie_expire")
        let lifetime = expiry.map { Duration(go: $0) } ?? .seconds(168 * 3600)
        if let lifetime, lifetime > .zero {
            // oauth2-proxy ends no session for being idle.
            let text = ConfigText(lifetime.clamped(bounds))
            sessions.add("idle_timeout", text)
            sessions.add("lifetime", text)
            sessions.add("cookie", .word("persistent"))
        } else if lifetime == nil {
            notes.warning(
                "'cookie_expire' is not a duration; 'lifetime' has its default",
                at: self.settings["cookie_expire"]?.place
            )
        }
        guard let setting = self.settings["cookie_refresh"], let text = setting.texts.last else { return }
        guard let refresh = Duration(go: text) else {
            return notes.warning("'cookie_refresh' is not a duration; 'recheck' has its default", at: setting.place)
        }
        if refresh > .zero { sessions.add("recheck", ConfigText(refresh.clamped(1...(3650 * 86_400)))) }
    }
}

/// Converts the session store.
struct OAuth2ProxyStore {
    let settings: OptionSettings

    func add(to sessions: inout YAMLMapping, _ notes: inout ImportNotes) {
        guard let type = self.settings["session_store_type"], self.settings.text("session_store_type") == "redis" else {
            return
        }
        let variable = "GATEHOUSE_REDIS_URL"
        let urls = self.urls
        // User and password are part of the URL, so a URL with them is a secret as a whole.
        if let urls, self.settings["redis_password"] == nil, self.settings["redis_username"] == nil,
            let text = ConfigText(urls)
        {
            sessions.add("store", text)
        } else {
            sessions.add("store", ConfigText(environment: variable))
            let form =
                "redis://USER:PASSWORD@HOST:6379/0, redis+sentinel://… or redis+cluster://…; see docs/sessions.md"
            notes.note(
                "the URL of Redis is not copied; put it into the environment variable \(variable): \(form)",
                at: type.place
            )
        }
        var redis = YAMLMapping()
        if let file = self.settings.scalar("redis_ca_path", &notes) {
            var tls = YAMLMapping()
            tls.add("ca_file", file)
            redis.add("tls", tls)
        }
        redis.add(
            "sentinel_password",
            self.settings.reference("redis_sentinel_password", variable: "GATEHOUSE_SENTINEL_PASSWORD", &notes)
        )
        sessions.add("redis", redis)
    }

    /// The URL as our file writes it; nil if it is not known or has a user or password.
    private var urls: String? {
        let isCluster = self.settings.flag("redis_use_cluster", else: false)
        let isSentinel = self.settings.flag("redis_use_sentinel", else: false)
        let name =
            isCluster
            ? "redis_cluster_connection_urls"
            : isSentinel ? "redis_sentinel_connection_urls" : "redis_connection_url"
        let texts = self.settings.list(name)
        guard !texts.isEmpty, self.settings[name]?.isUnknown == false, !texts.contains(where: { $0.contains("@") })
        else {
            return nil
        }
        guard isCluster || isSentinel else {
            guard texts[0].hasPrefix("redis://") || texts[0].hasPrefix("rediss://") else { return nil }
            return texts[0].contains("?") ? nil : texts[0]
        }
        let hosts = texts.compactMap { text -> Substring? in
            guard let sign = text.firstRange(of: "://") else { return nil }
            return text[sign.upperBound...].prefix { $0 != "/" }
        }
        guard hosts.count == texts.count else { return nil }
        let list = hosts.joined(separator: ",")
        let scheme = texts[0].hasPrefix("rediss:") ? "rediss" : "redis"
        guard isSentinel else { return "\(scheme)+cluster://\(list)" }
        guard let master = self.settings.text("redis_sentinel_master_name") else { return nil }
        return "\(scheme)+sentinel://\(list)/\(master)/0"
    }
}

extension OptionSettings {
    /// Where the gateway has its endpoints after the import.
    var endpoints: EndpointPrefix { self.text("proxy_prefix").flatMap { EndpointPrefix($0) } ?? .standard }
}
