// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateSessions

/// What needs attention, derived from the state of a gateway, with the section of the run-book about it.
package struct StatusWarnings {
    private let status: GatewayStatus
    private var found: [GatewayStatus.Warning] = []

    /// The warnings of a state, the most urgent first.
    package static func of(_ status: GatewayStatus) -> [GatewayStatus.Warning] {
        var warnings = StatusWarnings(status: status)
        warnings.look()
        return SecurityEvent.Severity.allCases.reversed().flatMap { severity in
            warnings.found.filter { $0.severity == severity }
        }
    }

    private init(status: GatewayStatus) {
        self.status = status
    }

    private mutating func add(_ severity: SecurityEvent.Severity, _ text: String, _ runBook: RunBook?) {
        self.found.append(GatewayStatus.Warning(severity, text, runBook))
    }

    private mutating func look() {
        self.lookAtGateway()
        self.lookAtProviders()
        self.lookAtApps()
        self.lookAtCertificates()
        self.lookAtPins()
    }

    private mutating func lookAtGateway() {
        if self.status.isDraining { self.add(.notice, "the gateway is shutting down", nil) }
        if self.status.refusedReload != nil {
            let text = "a reload was refused for what it takes from users: gatehouse policy confirm, or revert the file"
            self.add(.warning, text, .reloadFailed)
        } else if self.status.lastReloadFailed {
            self.add(.warning, "the last reload failed, the old configuration stays in force", .reloadFailed)
        }
        switch self.status.storeFailure {
        case .readOnly: self.add(.critical, "the server of the session store is a replica", .storeUnavailable)
        case .evicting: self.add(.warning, "Redis ends sessions when its memory is full", .storeUnavailable)
        case .deleted, .replaced, .truncated, .damaged:
            let word = self.status.storeFailure?.rawValue ?? ""
            self.add(.critical, "the file of the session store is \(word)", .storeUnavailable)
        case nil where !self.status.isStoreAvailable:
            self.add(.critical, "the session store does not respond", .storeUnavailable)
        case nil: break
        }
        let (level, used) = (self.status.overload.level, self.status.overload.usedPercent)
        if level != "normal" {
            // Up to there, only idle connections are closed earlier.
            let severity: SecurityEvent.Severity = used < 85 ? .warning : .critical
            self.add(severity, "overload: \(level), \(used) % of the scarcest resource is used", .overloaded)
        }
        for loop in self.status.stuckLoops { self.add(.critical, "event loop \(loop) does not run", .loopStuck) }
        if self.status.logLinesDropped > 0 {
            let text = "\(self.status.logLinesDropped) log lines were dropped since the start"
            self.add(.warning, text, .logLinesDropped)
        }
        // As the alert: more than one a second, and more than one in five.
        let history = self.status.history
        let (rejected, requests) = (history.rejections.sum(ofLast: 5), history.requests.sum(ofLast: 5))
        if rejected > 300, rejected * 4 > requests {
            self.add(.warning, "\(rejected) requests were rejected in the last 5 minutes", .highRejectionRate)
        }
    }

    private mutating func lookAtProviders() {
        for provider in self.status.providerStates {
            let name = provider.name
            if provider.state == .failing {
                let reason = provider.lastFailure?.reason
                let code = reason.map { ": \($0.code)" } ?? ""
                let section = reason.flatMap { RunBook(about: $0) } ?? .providerDown
                self.add(.critical, "the last call to the provider \(name) failed\(code)", section)
            }
            if provider.isBreakerOpen {
                self.add(
                    .warning,
                    "the provider \(name) is asked for re-checks only now and then",
                    .providerBreakerOpen
                )
            }
            if provider.areKeysStale {
                self.add(.warning, "the keys of the provider \(name) could not be refreshed", .providerDown)
            }
        }
        let history = self.status.history
        let (good, bad) = (history.signIns.sum(ofLast: 15), history.failedSignIns.sum(ofLast: 15))
        if good + bad >= 10, bad * 10 > (good + bad) * 3 {
            self.add(.warning, "\(bad) of \(good + bad) sign-ins failed in the last 15 minutes", .signInFailures)
        }
    }

    private mutating func lookAtApps() {
        for app in self.status.appStates {
            let down = app.targets.filter { !$0.isHealthy }
            for target in down {
                let severity: SecurityEvent.Severity = down.count == app.targets.count ? .critical : .warning
                let text = "the target \(target.target) of the app \(app.name) gets no requests"
                self.add(severity, text, .upstreamDown)
            }
        }
    }

    private mutating func lookAtCertificates() {
        for listener in self.status.listenerCertificates {
            for finding in listener.findings {
                let file = finding.file.map { " \($0)" } ?? ""
                let text = "listener \(listener.address)\(file): \(finding.detail)"
                self.add(finding.severity, text, finding.name.runBook)
            }
        }
    }

    private mutating func lookAtPins() {
        for host in self.status.providerHosts where host.pins?.isRejected == true {
            let place = "\(host.host) of the provider \(host.provider)"
            self.add(.critical, "\(place) shows none of the pinned keys, so it is not called", .pinMismatch)
        }
        // Of events that repeat, the latest; they are sorted, the newest first.
        var known: Set<[String?]> = []
        for event in self.status.securityEvents
        where known.insert([event.name.rawValue, event.provider, event.host]).inserted {
            let place = "\(event.provider)\(event.host.map { " at \($0)" } ?? "")"
            self.add(event.severity, "\(place): \(event.detail)", event.name.runBook)
        }
    }
}

extension SecurityEvent.Name {
    fileprivate var runBook: RunBook {
        switch self {
        case .mismatch, .bypassed: .pinMismatch
        case .expiring, .backupMatched: .pinsExpiring
        }
    }
}

extension CertificateFinding.Name {
    fileprivate var runBook: RunBook? {
        switch self {
        case .expired: .certificateExpired
        case .expiring: .certificateExpiring
        case .listExpired: .revocationListExpired
        case .listExpiring: .revocationListExpiring
        case .notYetValid, .wrongHost, .weak, .wrongPurpose: nil
        }
    }
}
