// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateNet
package import NIOCore
internal import NIOSSL
internal import SwiftASN1
internal import X509

/// Connects to one target; confined to one event loop.
///
/// A connection is returned after the TLS handshake, with a trusted certificate and checked pins: no byte of a request
/// can be sent before.
package struct UpstreamConnector {
    package let address: UpstreamTarget
    let environment: UpstreamEnvironment
    private let tls: UpstreamTLS?
    private let timeout: TimeAmount
    private let dnsTTL: TimeAmount

    /// A connector for one target of an upstream.
    package init(to address: UpstreamTarget, of upstream: LoadedUpstream, environment: UpstreamEnvironment) {
        self.address = address
        self.environment = environment
        self.tls = address.isSecure ? upstream.tls : nil
        self.timeout = upstream.settings.limits.connect
        self.dnsTTL = upstream.settings.dnsTTL
    }

    /// Connects.
    ///
    /// - Returns: A channel without an application handler, on this loop; a failure is a `UpstreamFailure`, reported in
    ///   a later turn of the loop.
    package func connect() -> EventLoopFuture<any Channel> {
        let deadline = NIODeadline.now() + self.timeout
        let loop = self.environment.loop
        let promise = loop.makePromise(of: (any Channel).self)
        let bound = NIOLoopBound(self, eventLoop: loop)
        self.open(by: deadline).flatMap { bound.value.secured($0, by: deadline) }.whenComplete { result in
            switch result {
            case .success(let channel):
                promise.succeed(channel)
            case .failure(let error):
                let failure = UpstreamConnector.failure(for: error)
                loop.execute { promise.fail(failure) }
            }
        }
        return promise.futureResult
    }

    private func open(by deadline: NIODeadline) -> EventLoopFuture<any Channel> {
        switch self.address.place {
        case .unix(let path):
            return self.race(SocketAddress(socketPath: path).map { [$0] } ?? [], by: deadline)
        case .tcp(let host, let port):
            let bare = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
            if IPAddress(bare) != nil, let address = try? SocketAddress(ipAddress: bare, port: port) {
                return self.race([address], by: deadline)
            }
            return self.open(name: bare, port: port, by: deadline)
        }
    }

    /// Connects to a name: tries its addresses by Happy Eyeballs.
    private func open(name: String, port: Int, by deadline: NIODeadline) -> EventLoopFuture<any Channel> {
        let loop = self.environment.loop
        let promise = loop.makePromise(of: [IPAddress].self)
        let late = loop.scheduleTask(deadline: deadline) { promise.fail(UpstreamFailure.connectTimedOut) }
        self.environment.names.addresses(of: name, lifetime: self.dnsTTL, on: loop).whenSuccess { addresses in
            late.cancel()
            promise.succeed(addresses)
        }
        let bound = NIOLoopBound(self, eventLoop: loop)
        return promise.futureResult.flatMap { addresses in
            guard !addresses.isEmpty else {
                return loop.makeFailedFuture(UpstreamFailure.unreachable("the name has no address"))
            }
            return bound.value.race(addresses.compactMap { $0.socketAddress(port: port) }, by: deadline)
        }
    }

    private func race(_ addresses: [SocketAddress], by deadline: NIODeadline) -> EventLoopFuture<any Channel> {
        guard let loop = self.environment.loop as? SocketLoop else {
            return self.environment.loop.makeFailedFuture(UpstreamFailure.unreachable("the event loop has no sockets"))
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
        guard let tls else { throw UpstreamFailure.untrusted("no trust is configured") }
        let context = tls.context(isHTTP2: self.address.isHTTP2)
        let name = tls.serverName ?? self.address.serverName
        guard tls.pins != nil else {
            let handler = try NIOSSLClientHandler(context: context, serverHostname: name)
            try channel.pipeline.syncOperations.addHandlers([
                handler, HandshakeCompletionHandler(loop: channel.eventLoop, name: name),
            ])
            return
        }
        let chain = BuiltChain()
        let handler = try chain.handler(context: context, serverName: name)
        let watch = HandshakeCompletionHandler(loop: channel.eventLoop, name: name)
        try channel.pipeline.syncOperations.addHandlers([handler, BuiltChainHandler(chain), watch])
    }

    /// Waits for the handshake, then checks the negotiated protocol and the pins.
    private func secured(_ channel: any Channel, by deadline: NIODeadline) -> EventLoopFuture<any Channel> {
        guard self.address.isSecure else { return channel.eventLoop.makeSucceededFuture(channel) }
        let loop = channel.eventLoop
        let watch: HandshakeCompletionHandler
        do {
            watch = try channel.pipeline.syncOperations.handler(type: HandshakeCompletionHandler.self)
        } catch {
            return loop.makeFailedFuture(UpstreamFailure.untrusted("the connection was closed in the TLS handshake"))
        }
        let promise = loop.makePromise(of: (any Channel).self)
        let late = loop.scheduleTask(deadline: deadline) {
            promise.fail(UpstreamFailure.connectTimedOut)
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
            throw UpstreamFailure.untrusted("its certificate names no host; issue one with subject alternative names")
        }
        guard !self.address.isHTTP2 || negotiated == "h2" else {
            throw UpstreamFailure.untrusted("it speaks no HTTP/2 over TLS; write https:// in 'upstream'")
        }
        guard let pins = self.tls?.pins else { return }
        let keeper = try channel.pipeline.syncOperations.handler(type: BuiltChainHandler.self)
        let chain = keeper.chain.certificates
        let demand = pins.demand(at: WallClock.system.now)
        if demand != .refuse, let chain, chain.matches(pins) { return }
        self.environment.report(.pinMismatch(self.address, isEnforced: demand != .report, presented: chain))
        guard demand == .report else { throw UpstreamFailure.pinMismatch }
    }

    /// Whether a certificate has subject alternative names; the common name does not count.
    ///
    /// RFC 9525 §2; swift-nio-ssl falls back to the common name.
    private static func namesHosts(_ leaf: NIOSSLCertificate) -> Bool {
        guard let der = try? leaf.toDERBytes(), let certificate = try? Certificate(derEncoded: der) else {
            return false
        }
        return (try? certificate.extensions.subjectAlternativeNames)?.isEmpty == false
    }

    /// Maps an error.
    private static func failure(for error: any Error) -> UpstreamFailure {
        switch error {
        case let failure as UpstreamFailure:
            return failure
        case ChannelError.connectTimeout:
            return .connectTimedOut
        default:
            return .unreachable("\(error)")
        }
    }
}

/// Keeps the chain next to the TLS handler that builds it; confined to its channel's event loop.
private final class BuiltChainHandler: ByteHandler {
    let chain: BuiltChain

    init(_ chain: BuiltChain) {
        self.chain = chain
    }
}
