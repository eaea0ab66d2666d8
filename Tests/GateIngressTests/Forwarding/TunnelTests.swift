// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GateFixtures
import GateHTTP
import GateOpenID
import GatePolicy
import GateProviders
import GateSessions
import GateTestSupport
import GateWire
import NIOCore
import Testing

@testable import GateIngress
@testable import GateRuntime

@Suite struct TunnelTests {
    private final class Delegate: TunnelDelegate {
        var ends = 0
        func tunnelEnded() { self.ends += 1 }
    }

    private final class Fixture {
        let gateway: GatewayFixture
        let client = FakeClient()
        let stream = FakeStream()
        let delegate = Delegate()
        let session: Session
        let tunnel: Tunnel

        /// A tunnel of Ada's to the app `wiki`.
        init(idleTimeout: TimeAmount = .hours(1)) async throws {
            let gateway = try GatewayFixture(app: { $0.traffic.webSocket = WebSocketSettings() })
            let ticket = try await gateway.cachedSession(of: .staff())
            let lines = cookie(ticket) + "Origin: https://\(GatewayFixture.gate)\r\n"
            let head = try gateway.head("GET /wiki", GatewayFixture.gate, lines)
            let request = gateway.decided(head)
            let session = try #require(request.caller.session?.session)
            self.gateway = gateway
            self.session = session
            self.tunnel = Tunnel(
                TunnelAuthorization(of: request, on: try gateway.route("wiki"), session: session, loop: gateway.loop),
                idleTimeout: idleTimeout,
                delegate: self.delegate,
                connection: self.client,
                registry: gateway.loop.tunnels,
                sweep: gateway.loop.sweep
            )
        }
    }

    /// The close frame of the policy, as it goes to a client.
    private static let policyFrame = String(buffer: WebSocketClose.policy.frame())

    @Test func `bytes pass both ways once the app has agreed`() async throws {
        let fixture = try await Fixture()
        fixture.tunnel.fromClient(ByteBuffer(string: "early"))
        #expect(fixture.stream.received.isEmpty)
        fixture.tunnel.open(over: fixture.stream)
        fixture.tunnel.fromClient(ByteBuffer(bytes: [0x81, 0x80, 0, 0, 0, 0]))
        fixture.tunnel.fromApp(ByteBuffer(bytes: [0x81, 0x01, 0x41]))
        #expect(fixture.stream.received.utf8.count > 0)
        #expect(fixture.client.received.hasSuffix("A"))
    }

    //
    @Test(arguments: [(59, false), (60, true), (61, true)] as [(Int64, Bool)])
    func `while the issuer of its token is down a tunnel stays until the token ends`(
        seconds: Int64,
        hasEnded: Bool
    ) throws {
        var provider = ProviderSettings(id: "ci", type: .oidc, clientID: "gate", clientSecret: Secret(text: "s"))
        provider.issuer = "https://ci.example"
        let settings = IssuerSettings(provider, .keys(at: nil))
        let gateway = try GatewayFixture(
            issuers: [settings],
            app: { app in
                app.traffic.webSocket = WebSocketSettings()
                app.route.issuers = ["ci"]
            }
        )
        let head = try gateway.head("GET /", "desk.example.com", "Authorization: Bearer opaque\r\n")
        let route = try gateway.route("desk")
        guard case .token(let credential) = MachineCredential.field(of: head, takesBasic: false) else {
            Issue.record("no token")
            return
        }
        let (loop, issuer) = (gateway.loop, try #require(gateway.runtime.machines.issuers["ci"]))
        let now = gateway.clock.now
        let profile = Profile(provider: "ci", issuer: "https://ci.example", subject: "job")
        let session = Session.machine(profile, id: "id", family: "family", now: now)
        let known = CachedSession(session, under: .never, freshUntil: .distantFuture)
        let ends = now.advanced(by: .seconds(60))
        let valid = MachineCache.Entry.valid(known, ends: ends)
        loop.machines.insert(valid, for: credential, at: issuer, lifetime: .minutes(1), now: loop.tick)
        let authorization = TunnelAuthorization(of: gateway.decided(head), on: route, session: session, loop: loop)
        gateway.clock.advance(by: seconds)
        let down = MachineCache.Entry.rejected(Failure(.providerUnavailable, "it does not respond"))
        loop.machines.insert(down, for: credential, at: issuer, lifetime: .zero, now: .now())
        var decisions: [String] = []
        authorization.decide { decisions.append("\($0)") }
        #expect(decisions == [hasEnded ? "denied" : "unknown"])
    }

    /// A tunnel of Ada's to the app `wiki`, whose rules admit her for 20 seconds; the clock does not move.
    private func endingAuthorization() async throws -> (TunnelAuthorization, GatewayFixture) {
        let end = TestClock().now.advanced(by: .seconds(20))
        var entry = AccessEntry()
        entry.request = [.until(end)]
        let gateway = try GatewayFixture(app: { app in
            app.traffic.webSocket = WebSocketSettings()
            app.route.access = .entries([entry])
        })
        let ticket = try await gateway.cachedSession(of: .staff())
        let lines = cookie(ticket) + "Origin: https://\(GatewayFixture.gate)\r\n"
        let head = try gateway.head("GET /wiki", GatewayFixture.gate, lines)
        let route = try gateway.route("wiki")
        let request = gateway.decided(head)
        let session = request.caller.session?.session
        return (TunnelAuthorization(of: request, on: route, session: session, loop: gateway.loop), gateway)
    }

    @Test(arguments: [(19, "allowed"), (20, "denied"), (21, "denied")] as [(Int64, String)])
    func `a tunnel is checked when a date in the rules comes`(seconds: Int64, decision: String) async throws {
        let (authorization, gateway) = try await self.endingAuthorization()
        #expect(authorization.firstCheck == .seconds(20))
        gateway.clock.advance(by: seconds)
        // The loop reads the clock at most ten times a second.
        gateway.loop.advance(to: .now() + .seconds(1))
        var decisions: [String] = []
        authorization.decide { decisions.append(String("\($0)".prefix { $0 != "(" })) }
        #expect(decisions == [decision])
    }

    @Test func `a side that cannot take more stops the other`() async throws {
        let fixture = try await Fixture()
        fixture.tunnel.open(over: fixture.stream)
        fixture.client.isWritable = false
        fixture.tunnel.fromApp(ByteBuffer(bytes: [0x81, 0x01, 0x41]))
        #expect(!fixture.stream.isReading)
        fixture.tunnel.appWritabilityChanged(isWritable: false)
        #expect(!fixture.client.isReading)
        fixture.tunnel.appWritabilityChanged(isWritable: true)
        #expect(fixture.client.isReading)
    }

    @Test func `the end of the session ends the tunnel with a close frame to both sides`() async throws {
        let fixture = try await Fixture()
        fixture.tunnel.open(over: fixture.stream)
        #expect(fixture.gateway.loop.tunnels.count(of: fixture.session.familyKey) == 1)
        fixture.gateway.loop.sessionEnded(fixture.session.familyKey)
        #expect(fixture.client.received == Self.policyFrame)
        #expect(!fixture.stream.received.isEmpty && fixture.stream.events == ["end"])
        #expect(fixture.client.events == ["end"] && fixture.delegate.ends == 1)
        #expect(fixture.gateway.loop.tunnels.count == 0)
    }

    @Test func `a frame that has begun reaches the client before the close frame`() async throws {
        let fixture = try await Fixture()
        fixture.tunnel.open(over: fixture.stream)
        fixture.tunnel.fromApp(ByteBuffer(bytes: [0x81, 0x03, 0x41]))
        fixture.tunnel.end(.policy)
        #expect(!fixture.client.received.hasSuffix(Self.policyFrame) && fixture.delegate.ends == 0)
        fixture.tunnel.fromApp(ByteBuffer(bytes: [0x42, 0x43, 0x81, 0x01, 0x44]))
        #expect(fixture.client.received.hasSuffix("ABC\(Self.policyFrame)") && fixture.delegate.ends == 1)
    }

    @Test func `a session that ends during the handshake refuses the tunnel`() async throws {
        let fixture = try await Fixture()
        fixture.gateway.loop.sessionEnded(fixture.session.familyKey)
        #expect(fixture.tunnel.isRefused && fixture.delegate.ends == 0)
    }

    @Test func `a silent tunnel ends after its idle time-out`() async throws {
        let fixture = try await Fixture(idleTimeout: .zero)
        fixture.tunnel.open(over: fixture.stream)
        fixture.tunnel.expire()
        #expect(fixture.delegate.ends == 1 && fixture.client.events == ["end"])
    }

    @Test func `a check that finds the user denied ends the tunnel`() async throws {
        let fixture = try await Fixture()
        fixture.tunnel.open(over: fixture.stream)
        let other = try GatewayFixture(without: ["wiki"], app: { $0.traffic.webSocket = WebSocketSettings() })
        fixture.gateway.loop.replace(with: other.runtime)
        fixture.tunnel.expire()
        #expect(fixture.delegate.ends == 1)
    }

    @Test func `a check that finds the user admitted leaves the tunnel open`() async throws {
        let fixture = try await Fixture()
        fixture.tunnel.open(over: fixture.stream)
        fixture.tunnel.checkSoon()
        fixture.tunnel.expire()
        #expect(fixture.tunnel.isOpen && fixture.tunnel.deadline > .now() + .seconds(30))
    }

    @Test func `a client that ends its side ends that of the app, one that goes away both`() async throws {
        let fixture = try await Fixture()
        fixture.tunnel.open(over: fixture.stream)
        fixture.tunnel.clientEnded()
        #expect(fixture.stream.events == ["end output"] && fixture.tunnel.isOpen)
        fixture.tunnel.clientGone()
        #expect(fixture.stream.events == ["end output", "end"] && fixture.delegate.ends == 0)
        #expect(fixture.gateway.loop.tunnels.count == 0)
    }

    @Test func `a tunnel that is cut ends both sides at once`() async throws {
        let fixture = try await Fixture()
        fixture.tunnel.open(over: fixture.stream)
        fixture.tunnel.close()
        #expect(fixture.stream.events == ["cancel"] && fixture.client.events == ["close"] && fixture.delegate.ends == 1)
    }
}
