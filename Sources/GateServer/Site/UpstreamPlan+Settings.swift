// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
internal import GateCore
internal import GateProxy
internal import GateWire
internal import NIOCore

extension UpstreamPlan {
    /// Leads where nobody listens; for routes that are not forwarded.
    static let nowhere = UpstreamPlan(targets: [.unix(path: "/dev/null")])

    /// The plan of an app's settings, with its files read.
    ///
    /// - Throws: A `Failure` naming the file that cannot be read.
    init(_ settings: UpstreamSettings) throws(Failure) {
        self.init(targets: settings.targets.map { UpstreamAddress($0) })
        switch settings.balance {
        case .roundRobin: self.balance = .roundRobin
        case .leastRequests: self.balance = .leastRequests
        case .sticky: self.balance = .sticky
        }
        switch settings.reuse {
        case .withoutBodies: self.reuse = .withoutBodies
        case .always: self.reuse = .always
        case .never: self.reuse = .never
        }
        if settings.targets.contains(where: \.isSecure) {
            self.tls = try UpstreamTLS(UpstreamTLS.Settings(settings.tls ?? UpstreamTLSSettings()))
        }
        self.health = settings.health.map { HealthPlan($0) }
        self.ejection = settings.ejection.map { EjectionPlan($0) }
        self.limits.connections = settings.limits.connections
        self.limits.pending = settings.limits.pending
        self.limits.requests = settings.limits.requests
        self.limits.connect = TimeAmount(settings.timeouts.connect)
        self.limits.responseHead = TimeAmount(settings.timeouts.answer)
        self.limits.inactivity = TimeAmount(settings.timeouts.idle)
        self.limits.tunnel = TimeAmount(settings.timeouts.tunnel)
        self.limits.idle = TimeAmount(settings.timeouts.keepAlive)
        self.retry.methods = settings.retry.methods.compactMap { RequestMethod(rawValue: $0) }
        self.retry.budget = settings.retry.budget
        self.slowStart = TimeAmount(settings.slowStart)
        self.dnsTTL = TimeAmount(settings.dnsTTL)
    }
}

extension UpstreamAddress {
    fileprivate init(_ target: UpstreamTarget) {
        switch target.place {
        case .tcp(let host, let port):
            self.init(.tcp(host: host, port: port), isSecure: target.isSecure, isHTTP2: target.isHTTP2)
        case .unix(let path):
            self.init(.unix(path: path))
        }
    }
}

extension UpstreamTLS.Settings {
    fileprivate init(_ settings: UpstreamTLSSettings) {
        self.init()
        self.caFile = settings.caFile
        self.certificateFile = settings.certificate?.certificate
        self.keyFile = settings.certificate?.privateKey
        self.serverName = settings.serverName
        self.pins = settings.pins
    }
}

extension HealthPlan {
    fileprivate init(_ settings: HealthSettings) {
        self.init(path: settings.path)
        self.interval = TimeAmount(settings.interval)
        self.timeout = TimeAmount(settings.timeout)
        self.healthy = settings.healthy
        self.unhealthy = settings.unhealthy
        self.statuses = settings.statuses
        self.host = settings.host
    }
}

extension EjectionPlan {
    fileprivate init(_ settings: EjectionSettings) {
        self.init()
        self.failures = settings.failures
        self.time = TimeAmount(settings.time)
        self.maxTime = TimeAmount(settings.longest)
    }
}
