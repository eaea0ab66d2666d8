// SPDX-License-Identifier: Apache-2.0

internal import GateNet
internal import GateWire

/// A tunnel as its registry knows it.
protocol RegisteredTunnel: AnyObject {
    /// The family of the session that opened it; nil on public paths.
    var family: [UInt8]? { get }

    /// Ends it with a close frame to both sides.
    func end(_ reason: WebSocketClose)
    /// Checks within a second or two whether it may stay open.
    func checkSoon()
}

/// The tunnels of one event loop, by the session that opened them; confined to that loop.
final class TunnelRegistry {
    private var tunnels: [ObjectIdentifier: any RegisteredTunnel] = [:]
    /// How many there are, for other threads.
    let number = LoopNumber()
    private var families: [[UInt8]: Set<ObjectIdentifier>] = [:]

    /// How many there are.
    var count: Int { self.tunnels.count }

    /// How many a session has.
    func count(of family: [UInt8]) -> Int { self.families[family]?.count ?? 0 }

    /// Takes note of one.
    func add(_ tunnel: any RegisteredTunnel) {
        self.tunnels[ObjectIdentifier(tunnel)] = tunnel
        self.number.set(self.count)
        if let family = tunnel.family { self.families[family, default: []].insert(ObjectIdentifier(tunnel)) }
    }

    /// Lets go of one.
    func remove(_ tunnel: any RegisteredTunnel) {
        self.tunnels[ObjectIdentifier(tunnel)] = nil
        self.number.set(self.count)
        guard let family = tunnel.family else { return }
        self.families[family]?.remove(ObjectIdentifier(tunnel))
        if self.families[family]?.isEmpty ?? false { self.families[family] = nil }
    }

    /// Ends those of a session that has ended.
    func end(family: [UInt8]) {
        for id in self.families[family] ?? [] {
            self.tunnels[id]?.end(.policy)
        }
    }

    func endAll(_ reason: WebSocketClose) {
        for tunnel in self.tunnels.values {
            tunnel.end(reason)
        }
    }

    /// Has all look soon whether they may go on; another configuration is in force.
    func checkAll() {
        for tunnel in self.tunnels.values {
            tunnel.checkSoon()
        }
    }
}
