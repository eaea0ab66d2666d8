// SPDX-License-Identifier: Apache-2.0

import GateProxy
import Testing

@testable import GateRedis

/// Slots of keys, the map of a cluster, redirections.
@Suite struct ClusterSlotsTests {
    private func target(_ host: [UInt8]?, _ port: Int64) -> UpstreamTarget? {
        let name = host.map { String(decoding: $0, as: UTF8.self) } ?? "asked"
        return name == "?" ? nil : UpstreamTarget(.tcp(host: name, port: Int(port)))
    }

    private func node(_ host: String?, _ port: Int64) -> RESPValue {
        .list([host.map { .text(Array($0.utf8)) } ?? .null, .integer(port), .text([65]), .list([])])
    }

    private func range(_ first: Int64, _ last: Int64, _ nodes: RESPValue...) -> RESPValue {
        .list([.integer(first), .integer(last)] + nodes)
    }

    // The slots are those that `CLUSTER KEYSLOT` of Redis 7.0.15 returns.
    @Test(arguments: [
        ("", 0), ("123456789", 12_739), ("foo", 12_182), ("{foo}bar", 12_182), ("x{foo}{bar}", 12_182),
        ("foo{}{bar}", 8363), ("foo{{bar}}zap", 4015), ("foo{bar", 15_278), ("gatehouse:expires", 10_072),
    ])
    func `the slot of a key is the one that Redis computes`(key: String, slot: Int) {
        #expect(ClusterSlots.slot(of: Array(key.utf8)) == slot)
    }

    @Test func `the map has a master for each slot, and all nodes`() throws {
        let reply = RESPValue.list([
            self.range(0, 8000, self.node("a", 1), self.node("b", 2)),
            self.range(8001, 16_382, self.node(nil, 3), self.node("", 4)),
            self.range(16_383, 16_383, self.node("?", 5), self.node("d", 6)),
        ])
        var map = try #require(ClusterSlots(reply, target: self.target))
        #expect(map.master(of: 0) == self.target(Array("a".utf8), 1))
        #expect(map.master(of: 8000) == self.target(Array("a".utf8), 1))
        #expect(map.master(of: 8001) == self.target(nil, 3))
        #expect(map.master(of: 16_383) == nil && !map.isComplete)
        #expect(map.masters.count == 2 && map.nodes.count == 5)
        map.assign(16_383, to: UpstreamTarget(.tcp(host: "new", port: 7)))
        #expect(map.isComplete && map.masters.count == 3)
        #expect(map.master(of: 16_383) == UpstreamTarget(.tcp(host: "new", port: 7)))
        #expect(map.master(of: 16_382) == self.target(nil, 3))
    }

    @Test func `each node is read once, and a map has a maximum number of them`() throws {
        var reads = 0
        let own = (0..<Int64(ClusterSlots.count)).map { self.range($0, $0, self.node("a", 1 + $0 % 3)) }
        let map = try #require(
            ClusterSlots(.list(own)) { host, port in
                reads += 1
                return self.target(host, port)
            }
        )
        #expect(reads == 3 && map.masters.count == 3 && map.isComplete)
        let many = (0..<Int64(ClusterSlots.count)).map { self.range($0, $0, self.node("a", 1 + $0)) }
        let large = try #require(ClusterSlots(.list(many), target: self.target))
        #expect(large.masters.count == ClusterSlots.maxNodes && large.nodes.count == ClusterSlots.maxNodes)
        #expect(large.master(of: 0) != nil && large.master(of: ClusterSlots.count - 1) == nil)
    }

    @Test(arguments: [
        RESPValue.null, .text([]), .list([.integer(1)]), .list([.list([.integer(0), .integer(1)])]),
        .list([.list([.integer(-1), .integer(1), .list([])])]), .list([.list([.integer(2), .integer(1), .list([])])]),
        .list([.list([.integer(0), .integer(16_384), .list([])])]),
        .list([.list([.text([65]), .integer(1), .list([])])]),
    ])
    func `a reply other than a map is rejected`(reply: RESPValue) {
        #expect(ClusterSlots(reply, target: self.target) == nil)
    }

    @Test func `redirections have a slot, a host and a port`() {
        #expect(
            ClusterRedirection("MOVED 3999 127.0.0.1:6381")
                == .moved(slot: 3999, host: Array("127.0.0.1".utf8), port: 6381)
        )
        #expect(ClusterRedirection("ASK 1 ::1:7") == .ask(host: Array("::1".utf8), port: 7))
        #expect(ClusterRedirection("MOVED 1 :7") == .moved(slot: 1, host: [], port: 7))
        for text in ["", "MOVED", "MOVED 1", "MOVED 16384 h:1", "MOVED x h:1", "MOVED 1 h", "MOVED 1 h:x", "ERR 1 h:1"]
        {
            #expect(ClusterRedirection(text) == nil, "\(text)")
        }
    }

    @Test func `each command names its key`() {
        #expect(RedisCommand("GET", "a").key == Array("a".utf8))
        #expect(RedisScript.page.command("b").with("c").key == Array("b".utf8))
        for command in [RedisCommand("PUBLISH", "a", "b"), RedisCommand("PING"), RedisCommand("GET")] {
            #expect(command.key == nil)
        }
        for script in RedisScript.allCases { #expect(script.rawValue.contains("KEYS[2]") == false) }
    }
}
