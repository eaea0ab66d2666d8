// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProxy
import GateRedis
import GateSessions
import GateTestSupport

let noon = Instant(seconds: 1_800_000_000)

func record(_ number: UInt8, family: UInt8 = 0) -> SessionRecord {
    SessionRecord(
        key: [UInt8](repeating: number, count: 32),
        family: [UInt8](repeating: family, count: 32),
        sealed: [number],
        created: noon,
        lastSeen: noon,
        expires: noon.advanced(by: .seconds(3600))
    )
}

extension RedisStore {
    /// Whether a record was added by the first use of an id.
    func insert(_ record: SessionRecord, spending id: [UInt8], until: Instant) async throws(Failure) -> Bool {
        try await self.insert(record, spending: id, until: until, reading: .signOut, [], at: noon) != .spent
    }
}

extension RedisSettings {
    /// Time-outs that are longer than a busy machine delays a test.
    mutating func beginPatiently() { (self.commandTime, self.connectTime) = (.seconds(60), .seconds(60)) }
}

/// Repeats a call until it returns a value; a test that hangs is ended by the time limit of the run.
func eventually<Value>(_ body: () async throws -> Value?) async -> Value? {
    let end = ContinuousClock.now + .seconds(180)
    while ContinuousClock.now < end {
        if let value = try? await body() { return value }
        await Task.yield()
    }
    return nil
}

/// A master, a replica of it and three sentinels.
final class SentinelGroup {
    let master: RedisServer
    let replica: RedisServer
    let sentinels: [RedisServer]

    init() throws {
        self.master = try RedisServer(["--repl-diskless-sync-delay", "0"], hasPort: true)
        let port = try unwrapped(self.master.port)
        self.replica = try RedisServer(
            ["--replicaof", "127.0.0.1", "\(port)"],
            hasPort: true
        )
        let configuration = """
            sentinel monitor main 127.0.0.1 \(port) 2
            sentinel down-after-milliseconds main 500
            sentinel failover-timeout main 2000
            """
        self.sentinels = try (0..<3).map { _ in try RedisServer(hasPort: true, sentinel: configuration + "\n") }
        // A replica that has not responded for some of these periods is not promoted.
        let periods = ["INFO-PERIOD", "PING-PERIOD", "ASK-PERIOD", "PUBLISH-PERIOD"].flatMap { [$0, "300"] }
        for sentinel in self.sentinels {
            let reply = try RedisProbe(sentinel).run(["SENTINEL", "DEBUG"] + periods)
            guard reply == ["OK"] else { throw RedisServer.NotStarted(output: "\(reply)") }
        }
    }

    /// Waits until all sentinels know each other and the replica.
    func ready() async throws {
        let isReady: Bool? = await eventually {
            for sentinel in self.sentinels {
                let fields = try RedisProbe(sentinel).run("SENTINEL", "MASTER", "main")
                let values = Dictionary(zip(fields, fields.dropFirst())) { first, _ in first }
                guard values["num-slaves"] == "1", values["num-other-sentinels"] == "2" else { return nil }
            }
            let info = try RedisProbe(self.replica).run("INFO", "replication")
            return info.contains { $0.hasPrefix("master_link_status:up") } ? true : nil
        }
        guard isReady == true else { throw RedisServer.NotStarted(output: "the sentinels do not find each other") }
    }

    func settings() throws -> RedisSettings {
        let targets = try self.sentinels.map { try target($0) }
        return RedisSettings(.sentinels(targets, master: "main"))
    }
}

/// Three masters with a third of the slots each, and a replica of the first.
final class ClusterGroup {
    let masters: [RedisServer]
    let replica: RedisServer
    private static let options = ["--cluster-enabled", "yes", "--cluster-node-timeout", "700"]

    /// A cluster that works.
    ///
    /// - Parameter isInterleaved: Whether neighboring slots are of different masters, so that each slot is a range.
    /// - Throws: If it does not form.
    init(isInterleaved: Bool = false) async throws {
        self.masters = try (0..<3).map { _ in try RedisServer(ClusterGroup.options, hasPort: true) }
        self.replica = try RedisServer(ClusterGroup.options, hasPort: true)
        let ports = try (self.masters + [self.replica]).map { try unwrapped($0.port) }
        for (index, master) in self.masters.enumerated() {
            let probe = try RedisProbe(master)
            try probe.run("CONFIG", "SET", "repl-diskless-sync-delay", "0")
            try probe.run("CLUSTER", "SET-CONFIG-EPOCH", "\(index + 1)")
            let end = index == 2 ? 16_383 : 5461 * (index + 1) - 1
            if isInterleaved {
                let slots = stride(from: index, to: 16_384, by: 3).map { "\($0)" }
                try probe.run(["CLUSTER", "ADDSLOTS"] + slots)
            } else {
                try probe.run("CLUSTER", "ADDSLOTSRANGE", "\(5461 * index)", "\(end)")
            }
        }
        func meet() throws {
            for port in ports.dropFirst() {
                try RedisProbe(self.masters[0]).run("CLUSTER", "MEET", "127.0.0.1", "\(port)")
            }
        }
        try meet()
        let first = try RedisProbe(self.masters[0]).run("CLUSTER", "MYID")[0]
        let isReady: Bool? = await eventually {
            for server in self.masters + [self.replica] {
                guard try RedisProbe(server).run("CLUSTER", "NODES").count >= 4 else {
                    // A node forgets one that it has met if the two do not reach each other within a second.
                    if try RedisProbe(self.masters[0]).run("CLUSTER", "NODES").count < 4 { try meet() }
                    return nil
                }
            }
            var role = try RedisProbe(self.replica).run("ROLE")
            if role[0] == "master" {
                try RedisProbe(self.replica).run("CLUSTER", "REPLICATE", first)
                role = try RedisProbe(self.replica).run("ROLE")
            }
            guard role.count > 3, role[3] == "connected" else { return nil }
            for master in self.masters {
                let info = try RedisProbe(master).run("CLUSTER", "INFO")
                guard info.contains("cluster_state:ok") else { return nil }
                guard try RedisProbe(master).run("CLUSTER", "NODES").contains(where: { $0.contains(" slave ") }) else {
                    return nil
                }
            }
            return true
        }
        guard isReady == true else { throw RedisServer.NotStarted(output: "the cluster does not form") }
    }

    func settings() throws -> RedisSettings {
        RedisSettings(.cluster(try self.masters.prefix(2).map { try target($0) }))
    }

    /// The index of the master of a key.
    func master(of key: String) throws -> Int {
        let slot = try unwrapped(Int(try RedisProbe(self.masters[0]).run("CLUSTER", "KEYSLOT", key)[0]))
        return min(slot / 5461, 2)
    }
}

/// The address of a server.
func target(_ server: RedisServer) throws -> UpstreamTarget {
    UpstreamTarget(.tcp(host: "127.0.0.1", port: try unwrapped(server.port)))
}

private func unwrapped<Value>(_ value: Value?) throws -> Value {
    guard let value else { throw RedisServer.NotStarted(output: "no value") }
    return value
}
