// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GateProxy
import GateWire
import Testing

/// Invalid settings of `upstream`, and their diagnostics.
@Suite struct UpstreamDiagnosticsTests {
    private func remarks(_ value: String) -> [String] {
        Fixture.remarks(Fixture.smallest(upstream: "upstream: \(value)"))
    }

    @Test(
        arguments: [
            (
                "https://unix:/run/a.sock",
                "has a scheme that sockets do not support; they carry plain HTTP/1.1, so write 'unix:/run/a.sock'"
            ),
            (
                "https+unix:///run/a.sock",
                "has a scheme that sockets do not support; they carry plain HTTP/1.1, so write 'unix:/run/a.sock'"
            ),
            (
                "h2:unix:/run/a.sock",
                "has a scheme that sockets do not support; they carry plain HTTP/1.1, so write 'unix:/run/a.sock'"
            ),
            ("unix:run/a.sock", "needs an absolute path, such as unix:/run/app.sock"),
            ("h2://a/x/../path", "has a path that is '/path' in requests; write that"),
            ("http://a/p%61th", "has a path that is '/path' in requests; write that"),
            ("http://a//path", "has a path that is '/path' in requests; write that"),
            ("http://a/x/%2e%2e/y", "has a path that is '/y' in requests; write that"),
            (
                "http://a/x%2Fy",
                "has a path that has an escaped slash or backslash, which some servers read as '/x/y'; write the path without it"
            ),
            ("https://a?q", "has a query, and each request has its own; remove the '?' and what follows it"),
            ("https://a/b?q#f", "has a query, and each request has its own; remove the '?' and what follows it"),
            ("https://a/b#f", "has a fragment, and each request has its own; remove the '#' and what follows it"),
            (
                "https://user@a",
                "has a user name in it, which no request would have; for a password that the app asks for, see 'basic' of 'identity'"
            ),
            (
                "https://user:word@a/b",
                "has a user name in it, which no request would have; for a password that the app asks for, see 'basic' of 'identity'"
            ),
            ("http://a:99999", "is not an upstream; write such as http://10.0.0.5:8080 or unix:/run/app.sock"),
            (
                "wss://a",
                "is not an upstream; a WebSocket starts as a request, so write 'https://a' and 'websocket: true'"
            ),
            ("grpc://a:50051", "is not an upstream; gRPC is HTTP/2, so write 'h2c://a:50051'"),
            ("grpcs://a", "is not an upstream; gRPC is HTTP/2, so write 'h2://a'"),
            ("htps://a", "is not an upstream; did you mean 'https://a'?"),
            ("ftp://a", "is not an upstream; it starts with http://, https://, h2c://, h2:// or unix:/"),
            ("app:8080", "is not an upstream; did you mean 'http://app:8080'?"),
        ]
    )
    func `an invalid target is rejected with what to write`(text: String, message: String) {
        #expect(self.remarks("\"\(text)\"") == ["error: '\(text)' \(message)"])
        #expect(self.remarks("{ targets: [\"\(text)\"] }") == ["error: '\(text)' \(message)"])
    }

    @Test func `targets are of one scheme`() {
        let message =
            "'https' beside 'http' in line 13; all targets of an app have the same scheme"
        #expect(self.remarks("[http://a, https://b]") == ["error: \(message)"])
        #expect(self.remarks("[http://a, http://b, unix:/run/a]").count == 1)
        #expect(self.remarks("[h2c://a, http://b]").count == 1)
    }

    @Test func `targets have one path`() {
        let help = "all targets of an app have the same path, since the app cannot know which of them gets a request"
        #expect(
            self.remarks("[http://a/x, http://b/y]") == [
                "error: 'http://b/y' has another path than the one in line 13; \(help)"
            ]
        )
        #expect(self.remarks("[http://a/x, http://a/y]").count == 1)
        #expect(self.remarks("[http://a, http://b/y]").count == 1)
        #expect(self.remarks("[http://a/x, http://b/x/]") == [])
        #expect(self.remarks("[http://a/x, http://A:80/x/]") == ["error: 'http://a/x' is here twice; first in line 13"])
    }

    @Test(arguments: [
        ("http://a", ""), ("http://a/", ""), ("http://a/x", "/x"), ("http://a/x/", "/x"), ("h2c://a:81/x/y", "/x/y"),
        ("{ targets: [https://a/x, https://b/x] }", "/x"), ("unix:/run/a/b.sock", ""),
    ])
    func `the path of an upstream is put before those of requests`(upstream: String, base: String) throws {
        let app = try #require(
            try Fixture.configuration(Fixture.smallest(upstream: "upstream: \(upstream)")).apps.first
        )
        #expect(app.upstream?.base == base)
        #expect((app.pathMapping?.mapped("/page") ?? "/page") == "\(base)/page")
    }

    @Test func `a target is there once, however it is spelled`() {
        #expect(
            self.remarks("[http://a, http://b, http://A:80/]") == ["error: 'http://a' is here twice; first in line 13"]
        )
        #expect(self.remarks("[unix:/run/a, unix:/run/a]") == ["error: 'unix:/run/a' is here twice; first in line 13"])
    }

    @Test(arguments: [(64, []), (65, ["error: more than 64 upstreams"])] as [(Int, [String])])
    func `an app has at most 64 targets`(count: Int, wanted: [String]) {
        let list = (0..<count).map { "http://h\($0)" }.joined(separator: ", ")
        #expect(self.remarks("[\(list)]") == wanted)
    }

    @Test(
        arguments: [
            (
                "",
                "expected an upstream, a list of them, or a mapping with 'targets', found nothing; write a value or remove the key"
            ),
            ("[]", "the list is empty; it needs at least one entry"),
            ("{ targets: [] }", "the list is empty; it needs at least one entry"),
            (
                "{ balance: sticky }",
                "an upstream needs 'targets', such as 'targets: [http://10.0.0.5:8080, http://10.0.0.6:8080]'"
            ),
            ("{ targets: http://a, balance: stiky }", "'stiky' is not a load balancing policy; did you mean 'sticky'?"),
            (
                "{ targets: http://a, balance: random }",
                "'random' is not a load balancing policy; write one of round_robin, least_requests, sticky"
            ),
            ("{ targets: http://a, dns_ttl: 0s }", "'0s' is out of range; it must be 1s to 1d"),
            ("{ targets: http://a, slow_start: 16m }", "'16m' is out of range; it must be 0s to 15m"),
            ("{ targets: http://a, limits: { connections: 0 } }", "'0' is out of range; it must be 1 to 65535"),
            ("{ targets: http://a, limits: { pending: 65536 } }", "'65536' is out of range; it must be 0 to 65535"),
            ("{ targets: http://a, limits: { requests: 0 } }", "'0' is out of range; it must be 1 to 1000000"),
            ("{ targets: http://a, timeouts: { connect: 61s } }", "'61s' is out of range; it must be 100ms to 1m"),
            ("{ targets: http://a, timeouts: { connect: 99ms } }", "'99ms' is out of range; it must be 100ms to 1m"),
            ("{ targets: http://a, timeouts: { response: 0s } }", "'0s' is out of range; it must be 100ms to 1h"),
            ("{ targets: http://a, timeouts: { idle: 25h } }", "'25h' is out of range; it must be 100ms to 1d"),
            ("{ targets: http://a, timeouts: { keep_alive: 2h } }", "'2h' is out of range; it must be 100ms to 1h"),
            ("{ targets: http://a, timeouts: { tunnel: 8d } }", "'8d' is out of range; it must be 100ms to 7d"),
        ]
    )
    func `an upstream out of its limits is rejected`(value: String, message: String) {
        #expect(self.remarks(value) == ["error: \(message)"])
    }

    @Test(
        arguments: [
            ("http://a", "'tls' has no effect with 'http'; write 'https://' in 'targets', or remove this"),
            ("h2c://a", "'tls' has no effect with 'h2c'; write 'h2://' in 'targets', or remove this"),
            ("unix:/run/a", "'tls' has no effect with 'unix'; a socket is never encrypted, so remove this"),
        ]
    )
    func `TLS is for targets that speak it`(target: String, message: String) {
        #expect(self.remarks("{ targets: \(target), tls: {} }") == ["error: \(message)"])
    }

    @Test(
        arguments: [
            (
                "{ certificate: tls/good.pem }",
                "'certificate' needs 'private_key', such as 'private_key: tls/client.key'"
            ),
            (
                "{ private_key: tls/good.key }",
                "'private_key' needs 'certificate', such as 'certificate: tls/client.pem'"
            ),
            ("{ ca_file: tls/text.pem }", "the file '/etc/gatehouse/tls/text.pem' holds no PEM certificate"),
            ("{ server_name: \"https://a\" }", "'https://a' is a URL; write the host alone: 'a'"),
            ("{ pins: google-roots }", "expected the pins of an upstream as a mapping of keys, found a single value"),
            ("{ pins: {} }", "no pin is given; write the pins as 'sha256'"),
            (
                "{ pins: { preset: google-roots } }",
                "unknown key 'preset' in the pins of an upstream; it has the keys match, mode, sha256, expires, on_expiry, "
                    + "allow_single_pin"
            ),
            (
                "{ pins: { sha256: [ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=] } }",
                "a replaced key would make every sign-in fail; add the pin of a backup key, which 'gatehouse pins' "
                    + "prints, or write 'allow_single_pin: true'"
            ),
        ]
    )
    func `TLS that could not work is rejected`(tls: String, message: String) {
        let remarks = self.remarks("{ targets: https://a, tls: \(tls) }")
        #expect(remarks.contains("error: \(message)"), "\(remarks)")
        #expect(remarks.count == (tls.contains("preset") ? 2 : 1))
    }

    @Test(
        arguments: [
            ("{ interval: 5s }", "a health check needs 'path', such as 'path: /healthz'"),
            ("{ path: healthz }", "'healthz' is not a path; it starts with '/', so write '/healthz'"),
            ("{ path: \"/a b\" }", "'/a b' is not a path; it may hold 1024 visible ASCII characters, but no '#'"),
            (
                "{ path: /, interval: 500ms }",
                "'500ms' is not a duration; write whole numbers with units, such as 30s, 15m, 1h30m or 7d"
            ),
            ("{ path: /, interval: 11m }", "'11m' is out of range; it must be 1s to 10m"),
            ("{ path: /, timeout: 61s }", "'61s' is out of range; it must be 100ms to 1m"),
            (
                "{ path: /, interval: 2s, timeout: 3s }",
                "'timeout' is longer than 'interval', so checks would overlap; shorten it"
            ),
            ("{ path: /, healthy: 0 }", "'0' is out of range; it must be 1 to 100"),
            ("{ path: /, unhealthy: 101 }", "'101' is out of range; it must be 1 to 100"),
            ("{ path: /, status: [] }", "'status' is an empty list; remove it for 200 to 399"),
            ("{ path: /, status: [99] }", "'99' is out of range; it must be 100 to 599"),
            ("{ path: /, status: [600] }", "'600' is out of range; it must be 100 to 599"),
            ("{ path: /, status: [200, 200] }", "'200' is here twice; first in line 13"),
            (
                "{ path: /, host: \"http://a\" }",
                "'http://a' is not a host; write a name without scheme and path, such as app.internal"
            ),
        ]
    )
    func `checks that could not work are rejected`(health: String, message: String) {
        #expect(self.remarks("{ targets: http://a, health: \(health) }") == ["error: \(message)"])
    }

    @Test(
        arguments: [
            ("eject: { failures: 1001 }", "'1001' is out of range; it must be 0 to 1000"),
            ("eject: { time: 0s }", "'0s' is out of range; it must be 100ms to 1h"),
            ("eject: { time: 1m, max_time: 30s }", "'max_time' is less than 'time'; raise it or lower 'time'"),
            (
                "retry: { methods: [POST] }",
                "'POST' is never retried, since the app may have processed the request; remove it"
            ),
            (
                "retry: { methods: [PATCH] }",
                "'PATCH' is never retried, since the app may have processed the request; remove it"
            ),
            ("retry: { methods: [get] }", "'get' is not a method to retry; did you mean 'GET'?"),
            (
                "retry: { methods: [CONNECT] }",
                "'CONNECT' is not a method to retry; write one of GET, HEAD, OPTIONS, PUT, DELETE"
            ),
            ("retry: { methods: [GET, GET] }", "'GET' is here twice; first in line 13"),
            ("retry: { budget: 101 }", "'101' is out of range; it must be 0 to 100"),
        ]
    )
    func `ejection and retries have bounds`(keys: String, message: String) {
        #expect(self.remarks("{ targets: http://a, \(keys) }") == ["error: \(message)"])
    }
}
