// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// What needs attention, derived from the JSON of `/status`, with the section of the run-book about it.
package struct StatusWarnings {
    private let status: JSON
    private var found: [JSON] = []

    /// The warnings of a state, the most urgent first.
    ///
    /// - Parameter status: The members of `/status`.
    /// - Returns: The value of its member `warnings`.
    package static func json(of status: [String: JSON]) -> JSON {
        var warnings = StatusWarnings(status: .object(status))
        warnings.look()
        let order = ["critical", "warning", "notice"]
        let sorted = order.flatMap { severity in warnings.found.filter { $0["severity"]?.string == severity } }
        return .array(sorted)
    }

    private init(status: JSON) {
        self.status = status
    }

    private mutating func add(_ severity: SecurityEvent.Severity, _ text: String, _ runBook: RunBook?) {
        self.found.append([
            "severity": .string(severity.rawValue), "text": .string(text),
            "run_book": runBook.map { .string($0.rawValue) } ?? .null,
        ])
    }

    private mutating func look() {
        self.lookAtGateway()
        self.lookAtProviders()
        self.lookAtApps()
        self.lookAtCertificates()
        self.lookAtPins()
    }

    private mutating func lookAtGateway() {
        if self.status["draining"]?.bool == true { self.add(.notice, "the gateway is shutting down", nil) }
        if self.status["refused_reload"]?["content"] != nil {
            let text = "a reload was refused for what it takes from users: gatehouse policy confirm, or revert the file"
            self.add(.warning, text, .reloadFailed)
        } else if self.status["last_reload_failed"]?.bool == true {
            self.add(.warning, "the last reload failed, the old configuration stays in force", .reloadFailed)
        }
        switch self.status["store_fault"]?.string {
        case "read_only": self.add(.critical, "the server of the session store is a replica", .storeUnavailable)
        case "evicting": self.add(.warning, "Redis ends sessions when its memory is full", .storeUnavailable)
        case let word?: self.add(.critical, "the file of the session store is \(word)", .storeUnavailable)
        case nil where self.status["store_available"]?.bool == false:
            self.add(.critical, "the session store does not respond", .storeUnavailable)
        case nil: break
        }
        if let level = self.status["overload"]?["stage"]?.string, level != "normal" {
            let used = self.status["overload"]?["used_percent"]?.integer ?? 0
            // Up to there, only idle connections are closed earlier.
            let severity: SecurityEvent.Severity = used < 85 ? .warning : .critical
            self.add(severity, "overload: \(level), \(used) % of the scarcest resource is used", .overloaded)
        }
        for loop in self.status["stuck_loops"]?.array ?? [] {
            self.add(.critical, "event loop \(loop.integer ?? 0) does not run", .loopStuck)
        }
        if let lost = self.status["log_lines_dropped"]?.integer, lost > 0 {
            self.add(.warning, "\(lost) log lines were dropped since the start", .logLinesDropped)
        }
        // As the alert: more than one a second, and more than one in five.
        let (rejected, requests) = (self.recent("rejections", minutes: 5), self.recent("requests", minutes: 5))
        if rejected > 300, rejected * 4 > requests {
            self.add(.warning, "\(rejected) requests were rejected in the last 5 minutes", .highRejectionRate)
        }
    }

    private mutating func lookAtProviders() {
        for provider in self.status["provider_states"]?.array ?? [] {
            let name = provider["name"]?.string ?? ""
            if provider["state"]?.string == "failing" {
                let code = provider["last_failure"]?["code"]?.string
                let section = code.flatMap { Failure.Reason(code: $0) }.flatMap { RunBook(about: $0) }
                let reason = code.map { ": \($0)" } ?? ""
                self.add(.critical, "the last call to the provider \(name) failed\(reason)", section ?? .providerDown)
            }
            if provider["breaker_open"]?.bool == true {
                self.add(
                    .warning,
                    "the provider \(name) is asked for re-checks only now and then",
                    .providerBreakerOpen
                )
            }
            if provider["keys_stale"]?.bool == true {
                self.add(.warning, "the keys of the provider \(name) could not be refreshed", .providerDown)
            }
        }
        let (good, bad) = (self.recent("sign_ins", minutes: 15), self.recent("failed_sign_ins", minutes: 15))
        if good + bad >= 10, bad * 10 > (good + bad) * 3 {
            self.add(.warning, "\(bad) of \(good + bad) sign-ins failed in the last 15 minutes", .signInFailures)
        }
    }

    /// The sum of the last minutes.
    private func recent(_ name: String, minutes: Int) -> Int64 {
        (self.status["history"]?[name]?.array ?? []).suffix(minutes).reduce(0) { $0 + ($1.integer ?? 0) }
    }

    private mutating func lookAtApps() {
        for app in self.status["app_states"]?.array ?? [] {
            let targets = app["targets"]?.array ?? []
            let down = targets.filter { $0["healthy"]?.bool == false }
            let name = app["name"]?.string ?? ""
            for target in down {
                let severity: SecurityEvent.Severity = down.count == targets.count ? .critical : .warning
                let text = "the target \(target["target"]?.string ?? "") of the app \(name) gets no requests"
                self.add(severity, text, .upstreamDown)
            }
        }
    }

    private mutating func lookAtCertificates() {
        for listener in self.status["listener_certificates"]?.array ?? [] {
            for finding in listener["findings"]?.array ?? [] {
                let severity = finding["severity"]?.string.flatMap { SecurityEvent.Severity(rawValue: $0) } ?? .warning
                let file = finding["file"]?.string.map { " \($0)" } ?? ""
                let place = "listener \(listener["listener"]?.string ?? "")\(file)"
                let section = finding["event"]?.string.flatMap { CertificateFinding.Name(code: $0) }?.runBook
                self.add(severity, "\(place): \(finding["detail"]?.string ?? "")", section)
            }
        }
    }

    private mutating func lookAtPins() {
        for host in self.status["provider_hosts"]?.array ?? [] where host["refused"]?.bool == true {
            let place = "\(host["host"]?.string ?? "") of the provider \(host["provider"]?.string ?? "")"
            self.add(.critical, "\(place) shows none of the pinned keys, so it is not called", .pinMismatch)
        }
        // Of events that repeat, the latest; they are sorted, the newest first.
        var known: Set<[String?]> = []
        for event in self.status["security_events"]?.array ?? [] {
            let key = [event["event"]?.string, event["provider"]?.string, event["host"]?.string]
            guard known.insert(key).inserted,
                let name = event["event"]?.string.flatMap({ SecurityEvent.Name(rawValue: $0) })
            else { continue }
            let severity = event["severity"]?.string.flatMap { SecurityEvent.Severity(rawValue: $0) } ?? .warning
            let place = "\(event["provider"]?.string ?? "")\(event["host"]?.string.map { " at \($0)" } ?? "")"
            self.add(severity, "\(place): \(event["detail"]?.string ?? "")", name.runBook)
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
    /// The finding that `/status` names so.
    fileprivate init?(code: String) {
        let known = Dictionary(Self.allCases.map { ($0.code, $0) }) { first, _ in first }
        guard let name = known[code] else { return nil }
        self = name
    }

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
