// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// Fetches a small document over plain HTTP from a port of this machine, for the demo only.
enum LoopbackClient {
    /// The body of a 200 response of at most 64 KiB that arrives within five seconds.
    static func body(port: Int, path: String) async throws -> [UInt8] {
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton).connectTimeout(.seconds(3))
        let channel = try await bootstrap.connect(host: "127.0.0.1", port: port).get()
        let promise = channel.eventLoop.makePromise(of: [UInt8].self)
        let deadline = channel.eventLoop.scheduleTask(in: .seconds(5)) {
            promise.fail(Failure(.demoFetchTimedOut, "no response from port \(port)"))
        }
        defer {
            deadline.cancel()
            channel.close(promise: nil)
        }
        try await channel.eventLoop.submit {
            try channel.pipeline.syncOperations.addHTTPClientHandlers()
            try channel.pipeline.syncOperations.addHandler(LoopbackResponse(promise: promise))
        }.get()
        let headers = HTTPHeaders([("Host", "localhost:\(port)"), ("Connection", "close")])
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: path, headers: headers)
        channel.write(HTTPClientRequestPart.head(head), promise: nil)
        channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
        return try await promise.futureResult.get()
    }
}

/// Collects the one response of a connection; confined to its channel's event loop.
private final class LoopbackResponse: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart

    private let promise: EventLoopPromise<[UInt8]>
    private var body: [UInt8] = []

    init(promise: EventLoopPromise<[UInt8]>) {
        self.promise = promise
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.unwrapInboundIn(data) {
        case .head(let head) where head.status != .ok: self.fail("status \(head.status.code)")
        case .head: break
        case .body(let bytes) where self.body.count + bytes.readableBytes > 65_536: self.fail("response over 64 KiB")
        case .body(let bytes): self.body += bytes.readableBytesView
        case .end: self.promise.succeed(self.body)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.fail("connection closed")
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.promise.fail(error)
    }

    private func fail(_ reason: String) {
        self.promise.fail(Failure(.demoFetch, reason))
    }
}
