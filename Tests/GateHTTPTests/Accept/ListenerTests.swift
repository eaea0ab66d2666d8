// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateWire
import NIOCore
import Synchronization
import Testing

@testable import GateHTTP
@testable import GateNet

/// Collects what arrives until the peer closes; confined to its loop.
private final class Collector: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private var text = ""
    private let isComplete: EventLoopPromise<String>

    init(_ isComplete: EventLoopPromise<String>) { self.isComplete = isComplete }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.text += String(buffer: self.unwrapInboundIn(data))
    }

    func channelInactive(context: ChannelHandlerContext) { self.isComplete.succeed(self.text) }
}

/// A listener on loopback that responds to each request with the client IP, and clients of it.
private final class ListenerFixture: Sendable {
    /// A connection of a client.
    struct Client: Sendable {
        let channel: SocketChannel
        /// Everything that was received, once the server has closed.
        let received: EventLoopFuture<String>
    }

    let loops: SocketLoopGroup
    let listener: Listener
    let limiter: ConnectionLimiter
    let address: SocketAddress
    private let rejections: Rejections

    private final class Rejections: Sendable {
        let list = Mutex<[AcceptFailure]>([])
    }

    /// Why connections were not accepted.
    var failures: [AcceptFailure] { self.rejections.list.withLock { $0 } }

    init(connections: Int = 100, loadBalancers: [String] = []) async throws {
        self.loops = try SocketLoopGroup(count: 1)
        let rejections = Rejections()
        self.rejections = rejections
        var limits = ConnectionLimiter.Limits()
        limits.connections = connections
        self.limiter = ConnectionLimiter(limits) { failure in rejections.list.withLock { $0.append(failure) } }
        let descriptor = try SocketCalls.listen(on: try SocketAddress(ipAddress: "127.0.0.1", port: 0))
        self.address = try #require(SocketCalls.localAddress(of: descriptor))
        var plan = ListenerPlan(BindAddress(host: "127.0.0.1", port: 0), identities: [])
        plan.balancers = loadBalancers.compactMap { CIDRRange($0) }
        plan.inherited = InheritedSocket(
            descriptor: descriptor,
            address: IPAddress("127.0.0.1"),
            port: self.address.port ?? 0,
            name: "test"
        )
        self.listener = try await Listener.open(plan, on: self.loops, limiter: self.limiter) { _, client, _ in
            let responder = Recorder()
            responder.whenFinished = { _, connection in connection.respond(.text(200, client.text)) }
            let environment = DownstreamEnvironment(
                limits: DownstreamLimits(),
                names: { LastingNames.plain },
                sweep: DeadlineSweep(),
                isDraining: { false }
            )
            return HTTP1Connection(environment: environment, peer: client.ip, tls: nil, responder: responder)
        }
    }

    /// Connects, sends a text and collects the response.
    func connect(sending text: String = "") async throws -> Client {
        let (loop, address) = (self.loops.loops[0], self.address)
        return try await loop.flatSubmit {
            let received = loop.makePromise(of: String.self)
            let connected = HappyEyeballsConnector.connect(to: [address], by: .now() + .seconds(5), on: loop)
            connected.whenFailure { received.fail($0) }
            return connected.flatMapThrowing { channel in
                try channel.pipeline.syncOperations.addHandler(Collector(received))
                try channel.activate()
                channel.write0(ByteBuffer(string: text), promise: nil)
                channel.flush0()
                return Client(channel: channel, received: received.futureResult)
            }
        }.get()
    }

    /// The response to a request that asks for the connection to be closed.
    func respond(_ head: String = "") async throws -> String {
        try await self.connect(sending: "\(head)GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").received.get()
    }

    func close() async throws {
        await self.listener.close()
        try await self.loops.shutdownGracefully()
    }
}

@Suite(.timeLimit(.minutes(1))) struct ListenerTests {
    @Test func `the handler of a connection gets its client IP`() async throws {
        let fixture = try await ListenerFixture()
        #expect(try await fixture.respond().hasSuffix("\r\n\r\n127.0.0.1"))
        try await fixture.close()
    }

    @Test func `a port in use is reported with the address`() async throws {
        let fixture = try await ListenerFixture()
        let port = try #require(fixture.address.port)
        let failure = await #expect(throws: Failure.self) {
            try await Listener.open(
                ListenerPlan(BindAddress(host: "127.0.0.1", port: port), identities: []),
                on: fixture.loops,
                limiter: fixture.limiter
            ) { _, _, _ in throw ChannelError.operationUnsupported }
        }
        #expect(failure?.detail == "cannot listen on 127.0.0.1:\(port): the port is in use")
        try await fixture.close()
    }

    @Test func `at the limit the longest idle connection is closed for a new one`() async throws {
        let fixture = try await ListenerFixture(connections: 1)
        let idle = try await fixture.connect()
        #expect(try await fixture.respond().hasSuffix("127.0.0.1"))
        #expect(try await idle.received.get() == "")
        #expect(fixture.failures.isEmpty)
        try await fixture.close()
    }

    @Test func `a PROXY header of a load balancer names the client`() async throws {
        let fixture = try await ListenerFixture(loadBalancers: ["127.0.0.0/8"])
        let response = try await fixture.respond("PROXY TCP4 203.0.113.7 127.0.0.1 50000 80\r\n")
        #expect(response.hasSuffix("\r\n\r\n203.0.113.7"))
        try await fixture.close()
    }

    @Test func `a load balancer without a PROXY header is disconnected`() async throws {
        let fixture = try await ListenerFixture(loadBalancers: ["127.0.0.0/8"])
        #expect(try await fixture.respond() == "")
        #expect(fixture.failures == [.proxyHeader])
        try await fixture.close()
    }

    @Test func `a PROXY header of any other client is not read`() async throws {
        let fixture = try await ListenerFixture(loadBalancers: ["192.0.2.0/24"])
        let response = try await fixture.respond("PROXY TCP4 203.0.113.7 127.0.0.1 50000 80\r\n")
        #expect(response.hasPrefix("HTTP/1.1 400 "))
        try await fixture.close()
    }

    @Test func `a paused listener accepts nothing until it is resumed`() async throws {
        let fixture = try await ListenerFixture()
        fixture.listener.setPaused(true)
        let client = try await fixture.connect(sending: "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        // The loop has polled its sockets at least once before it runs a task of another thread.
        try await fixture.loops.loops[0].submit {}.get()
        #expect(fixture.limiter.count == 0)
        fixture.listener.setPaused(false)
        #expect(try await client.received.get().hasSuffix("127.0.0.1"))
        try await fixture.close()
    }

    @Test func `a listener uses the load balancers of another plan for new connections`() async throws {
        let fixture = try await ListenerFixture()
        var plan = fixture.listener.plan
        plan.balancers = ["127.0.0.0/8"].compactMap { CIDRRange($0) }
        fixture.listener.adopt(plan)
        let response = try await fixture.respond("PROXY TCP4 203.0.113.7 127.0.0.1 50000 80\r\n")
        #expect(response.hasSuffix("\r\n\r\n203.0.113.7"))
        try await fixture.close()
    }
}
