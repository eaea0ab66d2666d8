// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import NIOCore
internal import NIOHTTP1
internal import Synchronization

/// Collects one request after the other and writes its answer; confined to its channel's event loop.
///
/// The pipeline handler before it holds back the next request until this one is answered.
final class DemoConnection: ChannelInboundHandler {
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
            self.answer(on: context.channel)
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

    private func answer(on channel: any Channel) {
        guard let head = self.head else { return }
        self.head = nil
        let request = DemoRequest(
            method: head.method.rawValue,
            target: head.uri,
            fields: head.headers.map { (name: $0.name, value: $0.value) },
            body: self.body,
        )
        let exchange = DemoExchange(channel: channel, request: request, isLast: self.tooLarge || !head.isKeepAlive)
        guard !self.tooLarge else {
            exchange.write(.text("request body over 64 KiB\n", status: 413))
            return
        }
        guard let responder = self.connections.responder.withLock({ $0 }) else {
            exchange.write(.text("starting\n", status: 503))
            return
        }
        Task { await exchange.answer(by: responder) }
    }
}

/// One request and the connection that waits for its answer.
struct DemoExchange: Sendable {
    let channel: any Channel
    let request: DemoRequest
    /// Whether the connection ends after the answer.
    let isLast: Bool

    func answer(by responder: DemoResponder) async {
        self.write(await responder(self.request))
    }

    /// The time as `check --online` compares it with that of the machine.
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

    func write(_ answer: DemoResponse) {
        var headers = HTTPHeaders(answer.fields.map { ($0.name, $0.value) })
        if answer.status != 204 { headers.add(name: "Content-Length", value: String(answer.body.count)) }
        if !headers.contains(name: "Date") { headers.add(name: "Date", value: DemoExchange.date()) }
        if self.isLast { headers.add(name: "Connection", value: "close") }
        let status = HTTPResponseStatus(statusCode: answer.status)
        let head = HTTPResponseHead(version: .http1_1, status: status, headers: headers)
        self.channel.write(HTTPServerResponsePart.head(head), promise: nil)
        if self.request.method != "HEAD", !answer.body.isEmpty {
            let bytes = self.channel.allocator.buffer(bytes: answer.body)
            self.channel.write(HTTPServerResponsePart.body(.byteBuffer(bytes)), promise: nil)
        }
        let sent = self.channel.eventLoop.makePromise(of: Void.self)
        self.channel.writeAndFlush(HTTPServerResponsePart.end(nil), promise: sent)
        if self.isLast {
            sent.futureResult.whenComplete { _ in self.channel.close(promise: nil) }
        }
    }
}
