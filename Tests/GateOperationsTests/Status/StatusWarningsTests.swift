// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GateOperations

@Suite struct StatusWarningsTests {
    private static let well: [String: JSON] = [
        "draining": false, "last_reload_failed": false, "store_available": true, "store_fault": .null,
        "overload": ["stage": "normal", "used_percent": 3], "stuck_loops": [], "log_lines_dropped": 0,
        "provider_states": [["name": "staff", "state": "ok", "breaker_open": false, "keys_stale": false]],
        "app_states": [["name": "wiki", "targets": [["target": "http://a", "healthy": true]]]],
        "history": ["sign_ins": [9], "failed_sign_ins": [1]],
    ]

    private func warnings(_ name: String, _ value: JSON) -> [(severity: String?, runBook: String?)] {
        var status = Self.well
        status[name] = value
        let list = StatusWarnings.json(of: status).array ?? []
        return list.map { ($0["severity"]?.string, $0["run_book"]?.string) }
    }

    @Test func `a gateway that is well has no warnings, nor has one of which nothing is known`() {
        #expect(StatusWarnings.json(of: Self.well) == [])
        #expect(StatusWarnings.json(of: [:]) == [])
    }

    @Test(
        arguments: [
            ("last_reload_failed", true, "warning", "GatehouseReloadFailed"),
            ("store_available", false, "critical", "GatehouseStoreUnavailable"),
            ("store_fault", "deleted", "critical", "GatehouseStoreUnavailable"),
            ("overload", ["stage": "closing", "used_percent": 91], "critical", "GatehouseOverloaded"),
            ("overload", ["stage": "shorter_idle", "used_percent": 81], "warning", "GatehouseOverloaded"),
            ("stuck_loops", [1], "critical", "GatehouseLoopStuck"),
            ("log_lines_dropped", 3, "warning", "GatehouseLogLinesDropped"),
            (
                "provider_states",
                [["name": "a", "state": "failing", "last_failure": ["code": "provider.pin_mismatch"]]],
                "critical", "GatehousePinMismatch"
            ),
            ("provider_states", [["name": "a", "state": "failing"]], "critical", "GatehouseProviderDown"),
            ("provider_states", [["state": "ok", "breaker_open": true]], "warning", "GatehouseProviderBreakerOpen"),
            ("history", ["sign_ins": [6], "failed_sign_ins": [4]], "warning", "GatehouseSignInFailures"),
            ("history", ["rejections": [301], "requests": [1203]], "warning", "GatehouseHighRejectionRate"),
            ("app_states", [["targets": [["healthy": false]]]], "critical", "GatehouseUpstreamDown"),
            ("app_states", [["targets": [["healthy": false], ["healthy": true]]]], "warning", "GatehouseUpstreamDown"),
            (
                "listener_certificates",
                [["findings": [["event": "certificate.expired", "severity": "critical"]]]],
                "critical", "GatehouseCertificateExpired"
            ),
            ("provider_hosts", [["refused": true]], "critical", "GatehousePinMismatch"),
            (
                "security_events",
                [["event": "pin.expiring", "severity": "notice"], ["event": "pin.expiring", "severity": "critical"]],
                "notice", "GatehousePinsExpiring"
            ),
        ] as [(String, JSON, String, String)]
    )
    func `what needs attention is named once, with the section of the run-book`(
        name: String,
        value: JSON,
        severity: String,
        runBook: String
    ) throws {
        let found = self.warnings(name, value)
        try #require(found.count == 1, "\(found)")
        #expect(found[0].severity == severity && found[0].runBook == runBook)
    }

    @Test(arguments: [([2], [7]), ([8], [3]), ([0], [0])] as [([JSON], [JSON])])
    func `a few failed sign-ins lead to no warning`(good: [JSON], bad: [JSON]) {
        #expect(self.warnings("history", ["sign_ins": .array(good), "failed_sign_ins": .array(bad)]).isEmpty)
    }

    @Test(arguments: [([300], [0]), ([301], [1204]), ([999, 0, 0, 0, 0, 0], [0])] as [([JSON], [JSON])])
    func `rejections that are few, old or a small part lead to no warning`(rejected: [JSON], requests: [JSON]) {
        #expect(self.warnings("history", ["rejections": .array(rejected), "requests": .array(requests)]).isEmpty)
    }

    @Test func `the most urgent is first`() {
        var status = Self.well
        status["last_reload_failed"] = true
        status["draining"] = true
        status["stuck_loops"] = [0]
        let found = StatusWarnings.json(of: status).array ?? []
        #expect(found.map { $0["severity"]?.string } == ["critical", "warning", "notice"])
    }
}
