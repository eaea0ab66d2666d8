// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GateHTTP
import GateWire
import NIOCore
import Testing

/// `limits`, `timeouts`, `drain` and the listeners of the gateway.
@Suite struct LimitsTests {
    private func gateway(_ lines: String) throws -> GatewaySettings {
        try Fixture.configuration(Fixture.smallest(gateway: lines)).gateway
    }

    private func remarks(_ lines: String) -> [String] { Fixture.remarks(Fixture.smallest(gateway: lines)) }

    @Test func `without a word the gateway has the limits and times of the documentation`() throws {
        let gateway = try self.gateway("")
        #expect(gateway.limits == GatewayLimits())
        #expect(gateway.drain == DrainSettings())
        #expect(gateway.listeners.first?.http2 == false)
        #expect(gateway.listeners.first?.proxyProtocol == [])
    }

    @Test func `every limit is read`() throws {
        let limits = try self.gateway(
            """
              limits:
                connections: 1
                connections_per_client_ip: 0
                requests_in_flight: 3
                requests_per_connection: 4
                streams: 5
                header_bytes: 65535
                header_field_bytes: 60KiB
                header_fields: 8
                url_bytes: 512
                sign_ins_in_flight: 10
                sign_ins_per_minute: 0
                failed_sign_ins_per_minute: 12
                memory: 1GiB
            """
        ).limits
        var wanted = GatewayLimits()
        wanted.connections.connections = 1
        wanted.connections.perClientIP = 0
        wanted.requests = 3
        wanted.downstream.requests = 4
        wanted.downstream.maxRequestsPerConnection = 400
        wanted.downstream.streams = 5
        wanted.downstream.head.bytes = 65_535
        wanted.downstream.head.fieldBytes = 61_440
        wanted.downstream.head.fields = 8
        wanted.downstream.head.targetBytes = 512
        wanted.signIns.inFlight = 10
        wanted.signIns.perMinute = 0
        wanted.signIns.failuresPerMinute = 12
        wanted.memory = 1 << 30
        #expect(limits == wanted)
    }

    @Test func `every time of a client is read, down to milliseconds`() throws {
        let timeouts = try self.gateway(
            "  timeouts: { handshake: 100ms, request_head: 2s, body: 3s, idle: 4m, write: 5s, connection_age: 6h }"
        ).limits.downstream
        var wanted = DownstreamLimits()
        wanted.handshake = .milliseconds(100)
        wanted.requestHead = .seconds(2)
        wanted.firstByte = .seconds(2)
        wanted.bodyInactivity = .seconds(3)
        wanted.idle = .seconds(240)
        wanted.writeStall = .seconds(5)
        wanted.age = .seconds(21_600)
        #expect(timeouts == wanted)
    }

    @Test(
        arguments: [
            ("{ delay: 2s, timeout: 10s }", 2000, 10_000), ("{ timeout: 60s }", 5000, 60_000),
            ("{ timeout: 5s }", 1000, 5000), ("{ timeout: 0s }", 0, 0), ("{ delay: 0s, timeout: 0s }", 0, 0),
            ("{ delay: 24s }", 24_000, 25_000),
        ]
    )
    func `the default delay leaves most of the drain`(text: String, delay: Int, timeout: Int) throws {
        let drain = try self.gateway("  drain: \(text)").drain
        #expect(drain.delay == .milliseconds(delay))
        #expect(drain.timeout == .milliseconds(timeout))
    }

    @Test(
        arguments: [
            ("{ delay: 25s }", "'delay' has to be shorter than 'timeout', which is 25s, which includes it"),
            ("{ delay: 10s, timeout: 10s }", "'delay' has to be shorter than 'timeout', which includes it"),
            ("{ delay: 1s, timeout: 0s }", "'delay' has to be shorter than 'timeout', which includes it"),
            ("{ timeout: 61m }", "'61m' is out of range; it must be 0s to 1h"),
            (
                "{ delay: 100ms }",
                "'100ms' is not a duration; write whole numbers with units, such as 30s, 15m, 1h30m or 7d"
            ),
        ]
    )
    func `a drain that could not end in time is rejected`(text: String, message: String) {
        #expect(self.remarks("  drain: \(text)") == ["error: \(message)"])
    }

    @Test(
        arguments: [
            ("connections: 0", "'0' is out of range; it must be 1 to 1000000"),
            ("connections: 10,000", "'10,000' is not a whole number, 1 to 1000000"),
            ("connections: -1", "'-1' is not a whole number, 1 to 1000000"),
            ("connections: 1.5", "'1.5' is not a whole number, 1 to 1000000"),
            ("connections_per_client_ip: 1000001", "'1000001' is out of range; it must be 0 to 1000000"),
            ("requests_in_flight: 0", "'0' is out of range; it must be 1 to 1000000"),
            ("requests_per_connection: 0", "'0' is out of range; it must be 1 to 1000000"),
            ("streams: 0", "'0' is out of range; it must be 1 to 1000"),
            ("streams: 1001", "'1001' is out of range; it must be 1 to 1000"),
            ("header_fields: 1001", "'1001' is out of range; it must be 1 to 1000"),
            ("header_bytes: 64KiB", "'64KiB' is out of range; it must be 1KiB to 65535"),
            ("header_bytes: 1023", "'1023' is out of range; it must be 1KiB to 65535"),
            ("header_bytes: 999999999999GiB", "'999999999999GiB' is out of range; it must be 1KiB to 65535"),
            (
                "header_bytes: 32 KiB",
                "'32 KiB' has no unit of sizes, which are KiB, MiB and GiB; bytes have none; did you mean '32KiB'?"
            ),
            (
                "header_bytes: 32kB",
                "'32kB' has no unit of sizes, which are KiB, MiB and GiB; bytes have none; did you mean '32KiB'?"
            ),
            ("header_bytes: 32000B", "'32000B' has no unit of sizes, which are KiB, MiB and GiB; bytes have none"),
            (
                "header_bytes: large",
                "'large' is not a size; write bytes as a whole number, or with a unit: 32KiB, 100MiB, 1GiB"
            ),
            ("header_field_bytes: 255", "'255' is out of range; it must be 256 to 65535"),
            ("url_bytes: 255", "'255' is out of range; it must be 256 to 65535"),
            ("sign_ins_in_flight: 0", "'0' is out of range; it must be 1 to 1000000"),
            ("sign_ins_per_minute: many", "'many' is not a whole number, 0 to 1000000"),
            ("failed_sign_ins_per_minute: many", "'many' is not a whole number, 0 to 1000000"),
            ("memory: 63MiB", "'63MiB' is out of range; it must be 64MiB to 1024GiB"),
            ("memory: 1025GiB", "'1025GiB' is out of range; it must be 64MiB to 1024GiB"),
            ("conections: 5", "unknown key 'conections' in the limits; did you mean 'connections'?"),
        ]
    )
    func `a limit out of its range is rejected with the range`(line: String, message: String) {
        #expect(self.remarks("  limits: { \"\(line.replacing(": ", with: "\": \""))\" }") == ["error: \(message)"])
    }

    @Test(
        arguments: [
            ("handshake: 99ms", "100ms to 5m"), ("request_head: 0s", "100ms to 5m"), ("body: 61m", "100ms to 1h"),
            ("idle: 25h", "100ms to 1d"), ("write: 0s", "100ms to 1h"), ("connection_age: 0s", "1s to 7d"),
        ]
    )
    func `a time out of its range is rejected with the range`(line: String, range: String) throws {
        let value = try #require(line.split(separator: " ").last)
        #expect(self.remarks("  timeouts: { \(line) }") == ["error: '\(value)' is out of range; it must be \(range)"])
    }

    @Test(
        arguments: [
            ("{ header_bytes: 8KiB }", 8192, 8192), ("{ header_bytes: 4KiB }", 4096, 4096),
            ("{ header_bytes: 64000 }", 16_384, 8192), ("{ header_bytes: 4KiB, url_bytes: 1KiB }", 4096, 1024),
        ]
    )
    func `the default of a part of a head is lowered to the whole`(text: String, field: Int, url: Int) throws {
        let limits = try self.gateway("  limits: \(text)").limits
        #expect(limits.downstream.head.fieldBytes == field)
        #expect(limits.downstream.head.targetBytes == url)
    }

    @Test(arguments: ["header_field_bytes", "url_bytes"])
    func `a part of a head that is larger than the whole is rejected`(name: String) {
        let message = "'\(name)' is 33792, more than 'header_bytes', which is 32768; lower it or raise that"
        #expect(self.remarks("  limits: { \(name): 33KiB }") == ["error: \(message)"])
        #expect(self.remarks("  limits: { \(name): 33KiB, header_bytes: 33KiB }") == [])
    }

    @Test func `HTTP2 is offered with TLS unless it is switched off, and peers with a PROXY header are networks`()
        throws
    {
        let tls = "tls: [{ certificate: tls/good.pem, private_key: tls/good.key }]"
        let listeners = try self.gateway(
            "  listeners: [{ address: \"h:1\", \(tls), proxy_protocol: [10.0.0.0/8, \"::1\"] }, { address: \"h:2\", \(tls), "
                + "http2: false }, { address: \"127.0.0.1:3\", http2: false }, { address: \"h:4\", \(tls), http2: true }]"
        ).listeners
        #expect(listeners.map(\.http2) == [true, false, false, true])
        #expect(listeners.map(\.proxyProtocol.count) == [2, 0, 0, 0])
        #expect(listeners.first?.proxyProtocol == ["10.0.0.0/8", "::1"].compactMap { CIDRRange($0) })
    }

    @Test func `a listener on a Unix socket is for its owner and trusts no headers unless that is configured`() throws {
        let listeners = try self.gateway(
            "  listeners: [{ address: \"unix:/run/a.sock\" }, { address: \"unix:/run/b.sock\", mode: \"0660\", trusted: true }]"
        ).listeners
        #expect(listeners.map(\.address.path) == ["/run/a.sock", "/run/b.sock"])
        #expect(listeners.map(\.address.description) == ["unix:/run/a.sock", "unix:/run/b.sock"])
        #expect(listeners.map(\.socketMode) == [0o600, 0o660])
        #expect(listeners.map(\.trustsPeers) == [false, true])
    }

    @Test(arguments: [
        (
            "address: \"unix:a.sock\"",
            "error: 'unix:a.sock' is not an absolute path of a socket such as unix:/run/gatehouse/http.sock"
        ),
        (
            "address: \"unix:/run/\(String(repeating: "s", count: 103))\"",
            "error: 'unix:/run/\(String(repeating: "s", count: 50))…' is too long: the path of a socket has 107 bytes at most, or "
                + "the name of its file 80"
        ),
        ("address: \"unix:/a\", mode: \"0999\"", "error: '0999' is not three octal digits such as \"0660\""),
        ("address: \"unix:/a\", mode: \"1777\"", "error: '1777' is not three octal digits such as \"0660\""),
        (
            "address: \"unix:/a\", proxy_protocol: [10.0.0.1]",
            "error: 'proxy_protocol' is not for a Unix socket; remove it"
        ),
        ("address: \"h:1\", mode: \"0660\"", "error: 'mode' is not for a listener with a port; remove it"),
        ("address: \"h:1\", trusted: true", "error: 'trusted' is not for a listener with a port; remove it"),
        (
            "address: \"unix:/a\", mode: \"0666\", trusted: true",
            "warning: every user of this machine can connect and claim any client IP; give the proxy a group of its own, "
                + "and write \"0660\""
        ),
    ])
    func `what a Unix socket cannot have is reported`(listener: String, message: String) {
        #expect(self.remarks("  listeners: [{ \(listener) }]") == [message])
    }

    @Test func `two listeners cannot have the same Unix socket`() {
        let twice = "  listeners: [{ address: \"unix:/a\" }, { address: \"unix:/b\" }, { address: \"unix:/a\" }]"
        #expect(self.remarks(twice).count == 1)
        #expect(self.remarks(twice).first?.hasPrefix("error: 'unix:/a' is taken by the listener in line") == true)
    }

    @Test func `HTTP2 on a plain listener is rejected`() {
        let message = "'http2' needs 'tls': browsers speak it over TLS only; write 'tls', or remove this"
        #expect(self.remarks("  listeners: [{ address: \"h:1\", http2: true }]") == ["error: \(message)"])
    }

    @Test func `a peer with a PROXY header is a network and not a name`() {
        let text = "  listeners: [{ address: \"h:1\", proxy_protocol: [balancer, 10.0.0.1/8] }]"
        let wanted = [
            "error: 'balancer' is not a network such as 10.0.0.0/8 or 192.0.2.7",
            "error: '10.0.0.1/8' has bits set after its prefix, or a prefix that is too long; write such as 10.0.0.0/8",
        ]
        #expect(self.remarks(text) == wanted)
    }
}
