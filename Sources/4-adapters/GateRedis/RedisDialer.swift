// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateNet
internal import GateProxy
internal import NIOCore

/// Connects to the Redis servers of a store; confined to one event loop.
struct RedisDialer {
    private let loaded: LoadedUpstream
    private let environment: UpstreamEnvironment
    private let isSecure: Bool

    /// Connections with these settings on a loop.
    init(_ loaded: LoadedUpstream, on loop: any EventLoop) {
        self.loaded = loaded
        self.environment = UpstreamEnvironment(loop: loop, sweep: DeadlineSweep())
        self.isSecure = loaded.tls != nil
    }

    /// Connects to a server, TLS included.
    func connect(to target: UpstreamTarget) -> EventLoopFuture<any Channel> {
        UpstreamConnector(to: target, of: self.loaded, environment: self.environment).connect()
    }

    /// A server that another server has named; nil if that is not an address.
    func target(host: [UInt8], port: Int64) -> UpstreamTarget? {
        let name = String(decoding: host, as: UTF8.self)
        let authority = name.contains(":") && !name.hasPrefix("[") ? "[\(name)]" : name
        guard (1...65_535).contains(port), let origin = WebURL("http://\(authority):\(port)")?.origin else {
            return nil
        }
        return UpstreamTarget(.tcp(host: origin.host, port: Int(port)), isSecure: self.isSecure)
    }
}
