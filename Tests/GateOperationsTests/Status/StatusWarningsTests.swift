// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateSessions
import Testing

@testable import GateOperations

@Suite struct StatusWarningsTests {
    typealias Change = @Sendable (inout GatewayStatus) -> Void

    private static let well: GatewayStatus = {
        var status = GatewayStatus()
        status.overload.usedPercent = 3
        status.providerStates = [provider { $0.state = .ok }]
        status.appStates = [app(true)]
        status.history.signIns = GatewayStatus.Minutes([9])
        status.history.failedSignIns = GatewayStatus.Minutes([1])
        return status
    }()

    private static func provider(_ change: (inout GatewayStatus.Provider) -> Void) -> GatewayStatus.Provider {
        var provider = GatewayStatus.Provider("staff")
        change(&provider)
        return provider
    }

    private static func failing(_ reason: Failure.Reason?) -> GatewayStatus.Provider {
        self.provider {
            $0.state = .failing
            let now = Instant(seconds: 1)
            $0.lastFailure = reason.map { GatewayStatus.Provider.Failed(at: now, reason: $0, detail: "") }
        }
    }

    private static func app(_ targets: Bool...) -> GatewayStatus.App {
        var app = GatewayStatus.App("wiki")
        app.targets = targets.map {
            GatewayStatus.App.Target("http://a", isHealthy: $0, isChecked: true, connections: 0, requests: 0)
        }
        return app
    }

    private static func event(_ severity: SecurityEvent.Severity) -> SecurityEvent {
        SecurityEvent(
            name: .expiring,
            severity: severity,
            provider: "staff",
            host: nil,
            detail: "",
            at: Instant(seconds: 1)
        )
    }

    private static func status(_ change: Change) -> GatewayStatus {
        var status = Self.well
        change(&status)
        return status
    }

    @Test func `a gateway that is well has no warnings, nor has one of which nothing is known`() {
        #expect(StatusWarnings.of(Self.well).isEmpty)
        #expect(StatusWarnings.of(GatewayStatus()).isEmpty)
    }

    private static let causes: [(Change, SecurityEvent.Severity, RunBook)] = [
        ({ $0.lastReloadFailed = true }, .warning, .reloadFailed),
        ({ $0.isStoreAvailable = false }, .critical, .storeUnavailable),
        ({ $0.storeFailure = .deleted }, .critical, .storeUnavailable),
        ({ ($0.overload.level, $0.overload.usedPercent) = ("closing", 91) }, .critical, .overloaded),
        ({ ($0.overload.level, $0.overload.usedPercent) = ("shorter_idle", 81) }, .warning, .overloaded),
        ({ $0.stuckLoops = [1] }, .critical, .loopStuck),
        ({ $0.logLinesDropped = 3 }, .warning, .logLinesDropped),
        ({ $0.providerStates = [failing(.providerPinMismatch)] }, .critical, .pinMismatch),
        ({ $0.providerStates = [failing(nil)] }, .critical, .providerDown),
        ({ $0.providerStates = [provider { $0.isBreakerOpen = true }] }, .warning, .providerBreakerOpen),
        (
            {
                $0.history.signIns = GatewayStatus.Minutes([6])
                $0.history.failedSignIns = GatewayStatus.Minutes([4])
            }, .warning, .signInFailures
        ),
        (
            {
                $0.history.rejections = GatewayStatus.Minutes([301])
                $0.history.requests = GatewayStatus.Minutes([1203])
            }, .warning, .highRejectionRate
        ),
        ({ $0.appStates = [app(false)] }, .critical, .upstreamDown),
        ({ $0.appStates = [app(false, true)] }, .warning, .upstreamDown),
        (
            {
                var listener = GatewayStatus.Listener("[::]:443")
                listener.findings = [
                    CertificateFinding(
                        name: .expired,
                        severity: .critical,
                        listener: "[::]:443",
                        file: "a.pem",
                        detail: ""
                    )
                ]
                $0.listenerCertificates = [listener]
            }, .critical, .certificateExpired
        ),
        (
            {
                var host = GatewayStatus.Host("https://a", of: "staff")
                host.pins = GatewayStatus.Host.Pins()
                host.pins?.isRejected = true
                $0.providerHosts = [host]
            }, .critical, .pinMismatch
        ),
        ({ $0.securityEvents = [event(.notice), event(.critical)] }, .notice, .pinsExpiring),
    ]

    @Test(arguments: StatusWarningsTests.causes.indices)
    func `what needs attention is named once, with the section of the run-book`(index: Int) throws {
        let (change, severity, runBook) = Self.causes[index]
        let found = StatusWarnings.of(Self.status(change))
        try #require(found.count == 1, "\(found)")
        #expect(found[0].severity == severity && found[0].runBook == runBook)
    }

    @Test(arguments: [([2], [7]), ([8], [3]), ([0], [0])] as [([Int64], [Int64])])
    func `a few failed sign-ins lead to no warning`(good: [Int64], bad: [Int64]) {
        let status = Self.status {
            $0.history.signIns = GatewayStatus.Minutes(good)
            $0.history.failedSignIns = GatewayStatus.Minutes(bad)
        }
        #expect(StatusWarnings.of(status).isEmpty)
    }

    @Test(arguments: [([300], [0]), ([301], [1204]), ([999, 0, 0, 0, 0, 0], [0])] as [([Int64], [Int64])])
    func `rejections that are few, old or a small part lead to no warning`(rejected: [Int64], requests: [Int64]) {
        let status = Self.status {
            $0.history.rejections = GatewayStatus.Minutes(rejected)
            $0.history.requests = GatewayStatus.Minutes(requests)
        }
        #expect(StatusWarnings.of(status).isEmpty)
    }

    @Test func `the most urgent is first`() {
        let status = Self.status {
            ($0.lastReloadFailed, $0.isDraining, $0.stuckLoops) = (true, true, [0])
        }
        #expect(StatusWarnings.of(status).map(\.severity) == [.critical, .warning, .notice])
    }
}
