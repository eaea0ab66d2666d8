// SPDX-License-Identifier: Apache-2.0

internal import GateCore
package import GateNet
package import NIOCore
internal import NIOSSL
internal import SwiftASN1
internal import X509

/// What the connections of one event loop share.
package struct UpstreamEnvironment {
    /// The loop.
    package let loop: any EventLoop
    /// Watches deadlines.
    package let sweep: DeadlineSweep
    /// Flushes together what was written in one turn; nil flushes each at once.
    package let flushes: FlushBatch?
    /// Knows the addresses of names.
    package let names: DNSCache
    /// Hears what an operator wants to know.
    package let report: @Sendable (UpstreamEvent) -> Void

    /// Bundles what is shared.
    package init(
        loop: any EventLoop,
        sweep: DeadlineSweep,
        flushes: FlushBatch? = nil,
        names: DNSCache = DNSCache(),
        report: @escaping @Sendable (UpstreamEvent) -> Void = { _ in }
    ) {
        self.loop = loop
        self.sweep = sweep
        self.flushes = flushes
        self.names = names
        self.report = report
    }
}

/// Something about a target that an operator wants to know.
package enum UpstreamEvent: Sendable {
    /// A target has failed too often and is left out for a while, by one event loop.
    case ejected(UpstreamTarget, failures: Int, span: TimeAmount)
    /// The health checks say that a target is not to be used any more, and why, or that it is again.
    case health(UpstreamTarget, isUp: Bool, String)
    /// A trusted certificate has none of the pinned keys; the keys are those of the built chain.
    case pinMismatch(UpstreamTarget, isEnforced: Bool, presented: VerifiedChain?)
}

/// Makes connections to one target; confined to one event loop.
///
/// A connection is handed out when TLS is complete, the certificate trusted and its pins looked at: nobody can send a
/// byte of a request before.
package struct UpstreamConnector {
    /// Where the connections lead.
    package let address: UpstreamTarget
    let setting: UpstreamEnvironment
    private let tls: UpstreamTLS?
    private let timeout: TimeAmount
    private let dnsTTL: TimeAmount

    /// A connector to one target of an upstream.
    package init(to address: UpstreamTarget, of upstream: LoadedUpstream, setting: UpstreamEnvironment) {
        self.address = address
        self.setting = setting
        self.tls = address.isSecure ? upstream.tls : nil
        self.timeout = upstream.settings.limits.connect
        self.dnsTTL = upstream.settings.dnsTTL
    }

    /// Makes a connection.
    ///
    /// - Returns: A channel without a handler for its messages, on this loop; a failure is a `ConnectFailure`, told in a
    ///   later turn of the loop.
    func connect() -> EventLoopFuture<any Channel> {
        let deadline = NIODeadline.now() + self.timeout
        let loop = self.setting.loop
        let promise = loop.makePromise(of: (any Channel).self)
        let bound = NIOLoopBound(self, eventLoop: loop)
        self.open(by: deadline).flatMap { bound.value.secured($0, by: deadline) }.whenComplete { result in
            switch result {
            case .success(let channel):
                promise.succeed(channel)
            case .failure(let error):
                let failure = ConnectFailure(UpstreamConnector.problem(for: error))
                loop.execute { promise.fail(failure) }
            }
        }
        return promise.futureResult
    }

    private func open(by deadline: NIODeadline) -> EventLoopFuture<any Channel> {
        switch self.address.place {
        case .unix(let path):
            return self.race((try? SocketAddress(unixDomainSocketPath: path)).map { [$0] } ?? [], by: deadline)
        case .tcp(let host, let port):
            let bare = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
            if IPAddress(bare) != nil, let address = try? SocketAddress(ipAddress: bare, port: port) {
                return self.race([address], by: deadline)
            }
            return self.open(name: bare, port: port, by: deadline)
        }
    }

    /// Connects to a name: its addresses in turn, the next one soon after the one before.
    private func open(name: String, port: Int, by deadline: NIODeadline) -> EventLoopFuture<any Channel> {
        let loop = self.setting.loop
        let promise = loop.makePromise(of: [IPBytes].self)
        let late = loop.scheduleTask(deadline: deadline) { promise.fail(ConnectFailure(.connectTimedOut)) }
        self.setting.names.addresses(of: name, lifetime: self.dnsTTL, on: loop).whenSuccess { addresses in
            late.cancel()
            promise.succeed(addresses)
        }
        let bound = NIOLoopBound(self, eventLoop: loop)
        return promise.futureResult.flatMap { addresses in
            guard !addresses.isEmpty else {
                return loop.makeFailedFuture(ConnectFailure(.unreachable("the name has no address")))
            }
            return bound.value.race(addresses.compactMap { $0.socketAddress(port: port) }, by: deadline)
        }
    }

    private func race(_ addresses: [SocketAddress], by deadline: NIODeadline) -> EventLoopFuture<any Channel> {
        guard let loop = self.setting.loop as? SocketLoop else {
            return self.setting.loop.makeFailedFuture(ConnectFailure(.unreachable("the event loop has no sockets")))
        }
        let bound = NIOLoopBound(self, eventLoop: loop)
        return HappyEyeballsConnector.connect(to: addresses, by: deadline, on: loop).flatMapThrowing { channel in
            channel.setWaterMarks(low: 32 * 1024, high: 128 * 1024)
            do {
                try bound.value.prepare(channel)
                try channel.activate()
            } catch {
                channel.close(promise: nil)
                throw error
            }
            return channel
        }
    }
}

// MARK: TLS

extension UpstreamConnector {
    private func prepare(_ channel: any Channel) throws {
        guard self.address.isSecure else { return }
        guard let tls else { throw ConnectFailure(.untrusted("no trust is configured")) }
        let context = tls.context(isHTTP2: self.address.isHTTP2)
        let name = tls.serverName ?? self.address.serverName
        guard tls.pins != nil else {
            let handler = try NIOSSLClientHandler(context: context, serverHostname: name)
            try channel.pipeline.syncOperations.addHandlers([
                handler, HandshakeCompletionHandler(loop: channel.eventLoop),
            ])
            return
        }
        let chain = BuiltChain()
        let handler = try chain.handler(context: context, serverName: name)
        let watch = HandshakeCompletionHandler(loop: channel.eventLoop)
        try channel.pipeline.syncOperations.addHandlers([handler, BuiltChainHandler(chain), watch])
    }

    /// Waits for the handshake, then looks at what was agreed and at the pins.
    private func secured(_ channel: any Channel, by deadline: NIODeadline) -> EventLoopFuture<any Channel> {
        guard self.address.isSecure else { return channel.eventLoop.makeSucceededFuture(channel) }
        let loop = channel.eventLoop
        let watch: HandshakeCompletionHandler
        do {
            watch = try channel.pipeline.syncOperations.handler(type: HandshakeCompletionHandler.self)
        } catch {
            return loop.makeFailedFuture(ConnectFailure(.untrusted("the connection was closed in the TLS handshake")))
        }
        let promise = loop.makePromise(of: (any Channel).self)
        let late = loop.scheduleTask(deadline: deadline) {
            promise.fail(ConnectFailure(.connectTimedOut))
            channel.close(mode: .all, promise: nil)
        }
        let bound = NIOLoopBound((connector: self, watch: watch), eventLoop: loop)
        watch.result.whenComplete { result in
            late.cancel()
            do {
                try bound.value.connector.check(channel, negotiated: try result.get())
                channel.pipeline.syncOperations.removeHandler(bound.value.watch, promise: nil)
                promise.succeed(channel)
            } catch {
                channel.close(promise: nil)
                promise.fail(error)
            }
        }
        return promise.futureResult
    }

    private func check(_ channel: any Channel, negotiated: String?) throws {
        let leaf = try channel.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self).peerCertificate
        guard let leaf, UpstreamConnector.namesHosts(leaf) else {
            throw ConnectFailure(.untrusted("the certificate names no host"))
        }
        guard !self.address.isHTTP2 || negotiated == "h2" else {
            throw ConnectFailure(.untrusted("it speaks no HTTP/2 over TLS"))
        }
        guard let pins = self.tls?.pins else { return }
        let keeper = try channel.pipeline.syncOperations.handler(type: BuiltChainHandler.self)
        let chain = keeper.chain.certificates
        let demand = pins.demand(at: WallClock.system.now)
        if demand != .refuse, let chain, chain.matches(pins) { return }
        self.setting.report(.pinMismatch(self.address, isEnforced: demand != .report, presented: chain))
        guard demand == .report else { throw ConnectFailure(.pinMismatch) }
    }

    /// Whether a certificate has alternative names: the common name is none.
    ///
    /// RFC 9525 §2; swift-nio-ssl still looks at it where there is nothing else.
    private static func namesHosts(_ leaf: NIOSSLCertificate) -> Bool {
        guard let der = try? leaf.toDERBytes(), let certificate = try? Certificate(derEncoded: der) else {
            return false
        }
        return (try? certificate.extensions.subjectAlternativeNames)?.isEmpty == false
    }

    /// What becomes of an error.
    private static func problem(for error: any Error) -> UpstreamFailure {
        switch error {
        case let failure as ConnectFailure:
            return failure.problem
        case ChannelError.connectTimeout:
            return .connectTimedOut
        default:
            return .unreachable("\(error)")
        }
    }
}

/// Keeps the chain beside the TLS handler that builds it; confined to its channel's event loop.
private final class BuiltChainHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    let chain: BuiltChain

    init(_ chain: BuiltChain) {
        self.chain = chain
    }
}
