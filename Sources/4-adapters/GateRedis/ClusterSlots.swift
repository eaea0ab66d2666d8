// SPDX-License-Identifier: Apache-2.0

internal import GateProxy

/// Which node of a Redis Cluster has which slot.
///
/// Redis Cluster specification, "Key distribution model".
struct ClusterSlots {
    static let count = 16_384
    /// The maximum number of masters, and of nodes, that are used; a cluster has 1000 nodes at most.
    static let maxNodes = 4096

    private(set) var masters: [UpstreamTarget] = []
    /// All nodes, replicas too.
    private(set) var nodes: [UpstreamTarget] = []
    /// For each slot the position of its master; ``none`` if it has none.
    private var owners = [UInt16](repeating: none, count: ClusterSlots.count)
    private static let none = UInt16.max
    /// The positions of the masters.
    private var positions: [UpstreamTarget: UInt16] = [:]

    /// A node, as a reply names it.
    private struct NodeName: Hashable {
        let host: [UInt8]?
        let port: Int64
    }

    /// A map without nodes.
    init() {}

    /// The map in the reply to `CLUSTER SLOTS`; nil if it is not a map.
    ///
    /// A slot whose master cannot be read has none. Each node is read once, however many ranges it has.
    ///
    /// - Parameters:
    ///   - reply: The reply.
    ///   - target: The node with a host and a port; nil as host is the node that has sent the reply.
    init?(_ reply: RESPValue, target: (_ host: [UInt8]?, _ port: Int64) -> UpstreamTarget?) {
        guard let ranges = reply.values else { return nil }
        var known: [NodeName: UpstreamTarget?] = [:]
        var listed: Set<UpstreamTarget> = []
        func node(_ part: RESPValue) -> UpstreamTarget? {
            guard let node = part.values, node.count >= 2, let port = node[1].number else { return nil }
            let name = NodeName(host: node[0].bytes.flatMap { $0.isEmpty ? nil : $0 }, port: port)
            if let found = known[name] { return found }
            let found = target(name.host, port)
            known[name] = .some(found)
            return found
        }
        for range in ranges {
            guard let parts = range.values, parts.count >= 3, let first = parts[0].number, let last = parts[1].number
            else { return nil }
            guard first >= 0, first <= last, last < ClusterSlots.count else { return nil }
            let found = parts[2...].map(node)
            for case .some(let node) in found where self.nodes.count < ClusterSlots.maxNodes {
                if listed.insert(node).inserted { self.nodes.append(node) }
            }
            guard let master = found[0] else { continue }
            for slot in first...last { self.assign(Int(slot), to: master) }
        }
    }

    func master(of slot: Int) -> UpstreamTarget? {
        let owner = self.owners[slot]
        return owner == ClusterSlots.none ? nil : self.masters[Int(owner)]
    }

    /// Whether each slot has a master.
    var isComplete: Bool { !self.owners.contains(ClusterSlots.none) }

    /// Records that a slot has another master.
    mutating func assign(_ slot: Int, to master: UpstreamTarget) {
        if let position = self.positions[master] {
            self.owners[slot] = position
        } else if self.masters.count < ClusterSlots.maxNodes {
            let position = UInt16(self.masters.count)
            self.positions[master] = position
            self.owners[slot] = position
            self.masters.append(master)
        }
    }

    /// The slot of a key: of the part between the first `{` and the next `}`, if that is not empty.
    static func slot(of key: [UInt8]) -> Int {
        guard let open = key.firstIndex(of: UInt8(ascii: "{")),
            let close = key[(open + 1)...].firstIndex(of: UInt8(ascii: "}")), close > open + 1
        else { return Int(self.crc16(key[...])) % self.count }
        return Int(self.crc16(key[(open + 1)..<close])) % self.count
    }

    /// CRC-16/XMODEM.
    private static func crc16(_ bytes: ArraySlice<UInt8>) -> UInt16 {
        bytes.reduce(0) { crc, byte in
            (0..<8).reduce(crc ^ UInt16(byte) << 8) { crc, _ in crc & 0x8000 == 0 ? crc << 1 : crc << 1 ^ 0x1021 }
        }
    }
}

/// Where a node of a cluster sends a command instead.
enum ClusterRedirection: Equatable {
    /// The slot has another master now.
    case moved(slot: Int, host: [UInt8], port: Int64)
    /// The key is already at the node that the slot moves to.
    case ask(host: [UInt8], port: Int64)

    /// The redirection in an error; nil if it is another error.
    ///
    /// The host is empty for the node that has sent it.
    init?(_ error: String) {
        let words = error.split(separator: " ")
        guard words.count == 3, let slot = Int(words[1]), (0..<ClusterSlots.count).contains(slot),
            let colon = words[2].lastIndex(of: ":"), let port = Int64(words[2][words[2].index(after: colon)...])
        else { return nil }
        let host = Array(words[2][..<colon].utf8)
        switch words[0] {
        case "MOVED": self = .moved(slot: slot, host: host, port: port)
        case "ASK": self = .ask(host: host, port: port)
        default: return nil
        }
    }
}
