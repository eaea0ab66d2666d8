// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import GateCore
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import Synchronization

/// An HTTP/1.1 server on 127.0.0.1, with or without TLS, for the demo only.
///
/// It gets its responder after it is bound, as a provider must know its own port.
package final class DemoServer: Sendable {
    private static let connectionLimit = 512

    /// The port it listens on.
    package let port: Int
    private let listener: any Channel
    private let connections: DemoConnections

    private init(listener: any Channel, port: Int, connections: DemoConnections) {
        self.listener = listener
        self.port = port
        self.connections = connections
    }

    /// Binds a port of 127.0.0.1.
    ///
    /// - Parameters:
    ///   - port: The port; 0 for any free port.
    ///   - tls: Terminates TLS; nil for plain HTTP.
    ///   - reserved: The ports that are not taken as any free port.
    ///   - purpose: What the port is for, in the error.
    ///   - option: The option that chooses another port, in the error.
    /// - Returns: The server, which responds with 503.
    /// - Throws: `demo.port`.
    static func bind(
        port: Int,
        tls: NIOSSLContext? = nil,
        avoiding reserved: Set<Int> = [],
        purpose: String = "",
        option: String = "",
    ) async throws -> DemoServer {
        do {
            let server = try await self.bind(port, tls)
            guard port == 0, reserved.contains(server.port) else { return server }
            // Stopped only after the next bind, which could otherwise get the same port.
            defer { server.stop() }
            return try await self.bind(port: 0, tls: tls, avoiding: reserved)
        } catch let failure as Failure {
            throw failure
        } catch {
            let isInUse = (error as? IOError)?.errnoCode == EADDRINUSE
            let reason = isInUse ? "is in use" : "cannot be opened: \(error)"
            let advice = option.isEmpty ? "" : "; choose another with \(option)"
            throw Failure(.demoPort, "port \(port)\(purpose) \(reason)\(advice)")
        }
    }

    /// Binds any free port for plain HTTP.
    package static func bindAny(avoiding reserved: Set<Int> = []) async throws -> DemoServer {
        try await self.bind(port: 0, avoiding: reserved)
    }

    private static func bind(_ port: Int, _ tls: NIOSSLContext?) async throws -> DemoServer {
        let connections = DemoConnections()
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    guard connections.insert(channel, limit: Self.connectionLimit) else { throw ChannelError.eof }
                    let pipeline = channel.pipeline.syncOperations
                    if let tls {
                        try pipeline.addHandler(Self.handler(tls))
                    }
                    try pipeline.addHandler(IdleStateHandler(allTimeout: .seconds(60)))
                    try pipeline.configureHTTPServerPipeline()
                    try pipeline.addHandler(DemoConnection(connections: connections))
                }
            }
            .bind(host: "127.0.0.1", port: port)
            .get()
        return DemoServer(listener: listener, port: listener.localAddress?.port ?? port, connections: connections)
    }

    /// Terminates TLS.
    ///
    /// The responder verifies what clients present, if they are asked for it.
    private static func handler(_ tls: NIOSSLContext) throws -> NIOSSLServerHandler {
        guard tls.configuration.certificateVerification == .optionalVerification else {
            return NIOSSLServerHandler(context: tls)
        }
        return NIOSSLServerHandler(
            context: tls,
            customVerificationCallback: { _, promise in promise.succeed(.certificateVerified) },
            configuration: .init()
        )
    }

    /// Sets the responder; before that, every request gets 503.
    package func serve(_ responder: @escaping DemoResponder) {
        self.connections.responder.withLock { $0 = responder }
    }

    /// Closes the port and every connection.
    package func stop() {
        self.listener.close(promise: nil)
        for channel in self.connections.all {
            channel.close(promise: nil)
        }
    }
}

/// What the connections of a server share: the responder, and the list by which they are closed.
private final class DemoConnections: Sendable {
    let responder = Mutex<DemoResponder?>(nil)
    private let open = Mutex<[ObjectIdentifier: any Channel]>([:])

    var all: [any Channel] { self.open.withLock { Array($0.values) } }

    func insert(_ channel: any Channel, limit: Int) -> Bool {
        let id = ObjectIdentifier(channel)
        let inserted = self.open.withLock { open in
            guard open.count < limit else { return false }
            open[id] = channel
            return true
        }
        if inserted {
            channel.closeFuture.whenComplete { _ in self.open.withLock { $0[id] = nil } }
        }
        return inserted
    }
}

/// Reads one request after the other and writes its response; confined to its channel's event loop.
///
/// The pipeline handler before it holds back the next request until the response is written.
private final class DemoConnection: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private static let bodyLimit = 64 * 1024

    private let connections: DemoConnections
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []
    private var tooLarge = false

    init(connections: DemoConnections) {
        self.connections = connections
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            self.body = []
            self.tooLarge = false
        case .body(let bytes):
            self.tooLarge = self.tooLarge || self.body.count + bytes.readableBytes > Self.bodyLimit
            if !self.tooLarge { self.body += bytes.readableBytesView }
        case .end:
            self.respond(on: context.channel, certificate: Self.certificate(on: context))
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is IdleStateHandler.IdleStateEvent else {
            context.fireUserInboundEventTriggered(event)
            return
        }
        context.close(promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private static func certificate(on context: ChannelHandlerContext) -> [UInt8]? {
        let operations = context.pipeline.syncOperations
        guard (try? operations.context(handlerType: NIOSSLServerHandler.self)) != nil else { return nil }
        return try? operations.nioSSL_peerCertificate()?.toDERBytes()
    }

    private func respond(on channel: any Channel, certificate: [UInt8]?) {
        guard let head = self.head else { return }
        self.head = nil
        var request = DemoRequest(
            method: head.method.rawValue,
            target: head.uri,
            fields: head.headers.map { (name: $0.name, value: $0.value) },
            body: self.body,
        )
        request.certificate = certificate
        let exchange = DemoExchange(channel: channel, request: request, isLast: self.tooLarge || !head.isKeepAlive)
        guard !self.tooLarge else {
            exchange.write(.text("request body over 64 KiB\n", status: 413))
            return
        }
        guard let responder = self.connections.responder.withLock({ $0 }) else {
            exchange.write(.text("starting\n", status: 503))
            return
        }
        Task { [request] in exchange.write(await responder(request)) }
    }
}

/// One request and the connection that waits for its response.
private struct DemoExchange: Sendable {
    let channel: any Channel
    let request: DemoRequest
    /// Whether the connection closes after the response.
    let isLast: Bool

    /// The time, which `check --online` compares with that of the machine.
    ///
    /// RFC 9110 §5.6.7.
    private static func date() -> String {
        let format = Date.VerbatimFormatStyle(
            format: """
                \(weekday: .abbreviated), \(day: .twoDigits) \(month: .abbreviated) \(year: .defaultDigits) \
                \(hour: .twoDigits(clock: .twentyFourHour, hourCycle: .zeroBased)):\(minute: .twoDigits):\
                \(second: .twoDigits) GMT
                """,
            locale: Locale(identifier: "en_US_POSIX"),
            timeZone: .gmt,
            calendar: Calendar(identifier: .gregorian),
        )
        return Date.now.formatted(format)
    }

    func write(_ response: DemoResponse) {
        var headers = HTTPHeaders(response.fields.map { ($0.name, $0.value) })
        if response.status != 204 { headers.add(name: "Content-Length", value: String(response.body.count)) }
        if !headers.contains(name: "Date") { headers.add(name: "Date", value: DemoExchange.date()) }
        if self.isLast { headers.add(name: "Connection", value: "close") }
        let status = HTTPResponseStatus(statusCode: response.status)
        let head = HTTPResponseHead(version: .http1_1, status: status, headers: headers)
        self.channel.write(HTTPServerResponsePart.head(head), promise: nil)
        if self.request.method != "HEAD", !response.body.isEmpty {
            let bytes = self.channel.allocator.buffer(bytes: response.body)
            self.channel.write(HTTPServerResponsePart.body(.byteBuffer(bytes)), promise: nil)
        }
        let sent = self.channel.eventLoop.makePromise(of: Void.self)
        self.channel.writeAndFlush(HTTPServerResponsePart.end(nil), promise: sent)
        if self.isLast {
            sent.futureResult.whenComplete { _ in self.channel.close(promise: nil) }
        }
    }
}
