// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GateProxy
import GateWire
import NIOCore
import Testing

/// `apps.<name>.upstream` in its three spellings.
@Suite struct UpstreamTests {
    private func upstream(_ value: String) throws -> UpstreamSettings {
        try #require(try Fixture.app(upstream: "upstream: \(value)").upstream)
    }

    @Test(
        arguments: [
            ("http://10.0.0.5:8080", "10.0.0.5", 8080, false, false),
            ("http://App.Internal", "app.internal", 80, false, false),
            ("https://app.internal", "app.internal", 443, true, false),
            ("h2c://[::1]:50051", "[::1]", 50_051, false, true),
            ("h2://grpc.internal", "grpc.internal", 443, true, true), ("h2c://app/", "app", 80, false, true),
            ("http://unix:8080", "unix", 8080, false, false),
        ]
    )
    func `a target is a scheme, a host and a port`(
        text: String,
        host: String,
        port: Int,
        isSecure: Bool,
        isHTTP2: Bool
    ) throws {
        let place = UpstreamTarget.Place.tcp(host: host, port: port)
        let target = UpstreamTarget(place, isSecure: isSecure, isHTTP2: isHTTP2)
        #expect(try self.upstream(text) == UpstreamSettings(targets: [target]))
        #expect("\(target)/" == text.lowercased() + (text.hasSuffix("/") ? "" : "/"))
    }

    @Test func `a target can be a socket`() throws {
        let target = UpstreamTarget.unix(path: "/run/app.sock")
        #expect(try self.upstream("unix:/run/app.sock").targets == [target])
        #expect(target.description == "unix:/run/app.sock")
        #expect(target.scheme == "unix" && target.origin == nil && target.authority == "localhost")
    }

    @Test(
        arguments: [
            "[http://a, http://b]", "{ targets: [http://a, http://b] }",
            "{ targets: [http://a, http://b], balance: round_robin, eject: {}, limits: {}, timeouts: {}, retry: {} }",
        ]
    )
    func `a list is a mapping with targets alone`(value: String) throws {
        let targets = ["a", "b"].map { UpstreamTarget(.tcp(host: $0, port: 80)) }
        #expect(try self.upstream(value) == UpstreamSettings(targets: targets))
    }

    @Test func `everything about an upstream is read`() throws {
        let value = """
            {
                targets: [h2://a, h2://b:8443], balance: sticky, slow_start: 30s, dns_ttl: 1m,
                tls: { ca_file: tls/good.pem, certificate: tls/good.pem, private_key: tls/good.key, server_name: App.Internal,
                  pins: { sha256: [ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=], mode: report } },
                health: { path: /healthz?full=1, interval: 5s, timeout: 500ms, healthy: 1, unhealthy: 4, status: [200, 503],
                  host: "App.Internal:8443" },
                eject: { failures: 2, time: 1s, max_time: 1m },
                limits: { connections: 1, pending: 0, requests: 3 },
                timeouts: { connect: 100ms, response: 2s, idle: 3s, keep_alive: 4s, tunnel: 5d },
                retry: { methods: [GET, PUT], budget: 0 } }
            """
        var wanted = UpstreamSettings(
            targets: [("a", 443), ("b", 8443)].map {
                UpstreamTarget(.tcp(host: $0, port: $1), isSecure: true, isHTTP2: true)
            }
        )
        wanted.balance = .sticky
        wanted.slowStart = .seconds(30)
        wanted.dnsTTL = .seconds(60)
        wanted.tls = try Self.tls()
        wanted.health = Self.health
        wanted.ejection?.failures = 2
        wanted.ejection?.time = .seconds(1)
        wanted.ejection?.maxTime = .seconds(60)
        wanted.limits.connections = 1
        wanted.limits.pending = 0
        wanted.limits.requests = 3
        wanted.limits.connect = .milliseconds(100)
        wanted.limits.responseHead = .seconds(2)
        wanted.limits.inactivity = .seconds(3)
        wanted.limits.idle = .seconds(4)
        wanted.limits.tunnel = .seconds(432_000)
        wanted.retry.methods = [.get, .put]
        wanted.retry.budget = 0
        #expect(try self.upstream(value) == wanted)
    }

    private static func tls() throws -> UpstreamTLS.Settings {
        let pin = try #require(Pin(base64: "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="))
        let folder = "/etc/gatehouse/tls"
        var tls = UpstreamTLS.Settings()
        tls.caFile = "\(folder)/good.pem"
        tls.certificate = CertificateFiles(certificate: "\(folder)/good.pem", privateKey: "\(folder)/good.key")
        tls.serverName = "app.internal"
        tls.pins = PinSet(match: .publicKey, mode: .report, pins: [pin], expires: nil, expired: .report, preset: nil)
        return tls
    }

    private static var health: HealthCheckSettings {
        var health = HealthCheckSettings(path: "/healthz?full=1")
        health.interval = .seconds(5)
        health.timeout = .milliseconds(500)
        health.healthy = 1
        health.unhealthy = 4
        health.statuses = [200, 503]
        health.host = "app.internal:8443"
        return health
    }

    @Test func `checks accept 200 to 399, or what is listed`() {
        var health = HealthCheckSettings(path: "/")
        #expect([199, 200, 399, 400].map { health.accepts($0) } == [false, true, true, false])
        health.statuses = [503]
        #expect([200, 503].map { health.accepts($0) } == [false, true])
    }

    @Test func `zero failures turn ejection off, and defaults are adjusted to fit`() throws {
        #expect(try self.upstream("{ targets: http://a, eject: { failures: 0 } }").ejection == nil)
        let patient = try self.upstream("{ targets: http://a, eject: { time: 5m }, health: { path: /, interval: 1s } }")
        #expect(patient.ejection?.maxTime == .seconds(300))
        #expect(patient.health?.timeout == .seconds(1))
    }

    @Test func `the files of an upstream are watched`() {
        let value =
            "{ targets: https://a, tls: { ca_file: tls/good.pem, certificate: tls/good.pem, private_key: tls/good.key } }"
        let result = Fixture.parse(Fixture.smallest(upstream: "upstream: \(value)"))
        #expect(result.files == ["/etc/gatehouse/tls/good.pem", "/etc/gatehouse/tls/good.key"])
    }
}
