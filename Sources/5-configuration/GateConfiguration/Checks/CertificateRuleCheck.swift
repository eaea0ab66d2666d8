// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GatePolicy
internal import GateYAML

/// Checks that clients are asked for the certificates that rules ask for, and that no other listener leads around them.
struct CertificateRuleCheck {
    let draft: FileDraft
    let publicHost: String
    let apps: [AppSettings]

    private var routes: [Route] { self.apps.map(\.route) }

    func check(_ reading: inout DecodingContext) {
        let listeners = self.draft.gateway?.listeners?.value ?? []
        let asking = listeners.compactMap { listener in
            listener.clientCertificates?.value.settings.map { (listener: listener, settings: $0) }
        }
        self.checkRules(asking.map(\.settings), &reading)
        self.checkHosts(listeners, &reading)
        for (listener, settings) in asking where settings.mode == .require {
            self.warnOfOtherListeners(listener, listeners, &reading)
        }
    }

    /// A rule that asks for a certificate that no client is asked for would lock all users out.
    private func checkRules(_ asking: [ClientCertificateSettings], _ reading: inout DecodingContext) {
        for app in self.apps {
            let route = app.route
            let isAsked = route.origins.hosts.contains { host in asking.contains { $0.mayInclude(host) } }
            guard !isAsked else { continue }
            if !app.certificateHeaders.isEmpty, let draft = self.draft.apps?.first(where: { $0.name == route.app }) {
                let help = "add 'client_certificates' to the listener, with the host in 'hosts'"
                let reason = "no listener asks the clients of '\(route.app)' for one"
                reading.error(
                    "'certificate_headers' is never sent: \(reason); \(help)",
                    at: draft.value.certificateHeadersMark ?? draft.mark
                )
            }
            for entry in (route.denied + route.access.entries).flatMap(\.withNested) {
                let asks = entry.request.contains { if case .certificate = $0 { true } else { false } }
                guard asks, let place = entry.place, let mark = reading.mark(of: place) else { continue }
                let help = "add 'client_certificates' to the listener, with the host in 'hosts'"
                let reason = "no listener asks the clients of '\(route.app)' for one"
                reading.error("'certificate' can never match: \(reason); \(help)", at: mark)
            }
        }
    }

    /// A host that no app has.
    private func checkHosts(_ listeners: [ListenerDraft], _ reading: inout DecodingContext) {
        let served = self.routes.flatMap(\.origins.hosts) + [.exact(self.publicHost)]
        for host in listeners.flatMap({ $0.clientCertificates?.value.hosts?.value ?? [] })
        where !served.contains(where: { $0.overlaps(host.value) }) {
            let help = "write the host of an app, or that of 'public_url'"
            reading.warning("no app has the host '\(host.value)'; \(help)", at: host.mark)
        }
    }

    /// A listener that serves the same hosts without asking for a certificate.
    private func warnOfOtherListeners(
        _ listener: ListenerDraft,
        _ listeners: [ListenerDraft],
        _ reading: inout DecodingContext
    ) {
        guard let settings = listener.clientCertificates?.value.settings, let mark = listener.clientCertificates?.mark
        else {
            return
        }
        let served = (self.routes.flatMap(\.origins.hosts) + [.exact(self.publicHost)]).filter(settings.mayInclude)
        let open = listeners.first { other in
            guard other.redirect == nil else { return false }
            guard let others = other.clientCertificates?.value.settings, others.mode == .require else { return true }
            return !served.allSatisfy(others.mayInclude)
        }
        guard let address = open?.address?.value else { return }
        let help = "add 'client_certificates' there too, or let no client reach it"
        reading.warning(
            "the listener at '\(address)' serves the same hosts and does not require a certificate; \(help)",
            at: mark
        )
    }
}

extension ClientCertificateSettings {
    /// Whether they are for some host of a pattern.
    fileprivate func mayInclude(_ host: HostPattern) -> Bool {
        self.hosts.isEmpty || self.hosts.contains { $0.overlaps(host) }
    }
}

extension HostPattern {
    /// Whether some host is one of both.
    fileprivate func overlaps(_ other: HostPattern) -> Bool {
        switch other {
        case .exact(let host): self.matches(host)
        case .wildcard:
            if case .exact(let host) = self { other.matches(host) } else { self == other }
        }
    }
}
