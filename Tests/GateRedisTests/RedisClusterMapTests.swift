// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProxy
import GateRedis
import GateSessions
import GateTestSupport
import Synchronization
import Testing

/// The map of a cluster that cannot be read, or only in part, or that names nodes that are gone.
@Suite(.serialized) struct RedisClusterMapTests {
    private func settings(_ proxy: RedisProxy) -> RedisSettings {
        var settings = RedisSettings(.cluster([.unix(path: proxy.socket)]))
        settings.beginPatiently()
        return settings
    }

    @Test func `the map is read at intervals, however many commands need it`() async throws {
        let server = try RedisServer()
        let reads = Mutex(0)
        let proxy = try await RedisProxy(server) { name, key in
            guard name == "CLUSTER" else { return .pass }
            guard key == "SLOTS" else { return .reply("$16\r\ncluster_state:ok\r\n") }
            reads.withLock { $0 += 1 }
            return .reply("*0\r\n")
        }
        let start = ContinuousClock.now
        let store = try await RedisStore.open(self.settings(proxy))
        for _ in 0..<3000 {
            let failure = await #expect(throws: Failure.self) { try await store.check() }
            #expect(failure?.detail.contains("no slots yet") == true)
        }
        // One when the store is opened, one when it is connected.
        let most = 2 + Int((ContinuousClock.now - start) / .milliseconds(200))
        #expect(reads.withLock { $0 } <= most)
    }

    /// A third of the slots at the first master; the others at nodes that cannot be read, or are gone.
    private func partialMap(_ port: Int) -> String {
        func range(_ first: Int, _ last: Int, _ node: String) -> String {
            "*3\r\n:\(first)\r\n:\(last)\r\n\(node)"
        }
        func node(_ host: String, _ port: Int) -> String {
            "*2\r\n$\(host.utf8.count)\r\n\(host)\r\n:\(port)\r\n"
        }
        let ranges = [
            range(0, 5460, node("127.0.0.1", port)), range(5461, 8000, node("?", 70_000)),
            range(8001, 10_921, "$5\r\nother\r\n"), range(10_922, 16_383, node("127.0.0.1", 1)),
        ]
        return "*\(ranges.count)\r\n" + ranges.joined()
    }

    @Test func `R-52: the readable part of the map of a cluster is served, and a removal is in force at once`()
        async throws
    {
        let group = try await ClusterGroup()
        let isPartial = Mutex(true)
        let port = try #require(group.masters[0].port)
        let map = self.partialMap(port)
        let proxy = try await RedisProxy(group.masters[0]) { name, key in
            name == "CLUSTER" && key == "SLOTS" && isPartial.withLock { $0 } ? .reply(map) : .pass
        }
        let ended = Mutex<Set<[UInt8]>>([])
        var settings = try group.settings()
        settings.beginPatiently()
        let whole = try await RedisStore.open(settings, revoked: { family in ended.withLock { _ = $0.insert(family) } })
        let numbers = (1...60).map { UInt8($0) }
        for number in numbers { try await whole.insert(record(number, family: number)) }
        let events = Mutex<[StoreEvent]>([])
        let folder = try TemporaryFolder()
        let part = try await RedisStore.open(
            self.settings(proxy),
            pending: "\(folder.path)/redis-revoked",
            report: { event in events.withLock { $0.append(event) } }
        )
        func isReadable(_ kind: String, _ hash: [UInt8]) throws -> Bool {
            try group.master(of: "gatehouse:\(kind):\(Base64URL.encode(hash))") == 0
        }
        var served: [UInt8] = []
        for number in numbers {
            let made = record(number, family: number)
            if try isReadable("s", made.key), try isReadable("r", made.family) {
                #expect(try await part.record(for: made.key) == made)
                served.append(number)
            } else {
                let failure = await #expect(throws: Failure.self) { try await part.record(for: made.key) }
                #expect(failure?.reason == .sessionStoreUnavailable)
            }
        }
        // Its mark can be written, its set and the indexes cannot.
        let number = try #require(try served.first { try !isReadable("f", record($0, family: $0).family) })
        let revoked = record(number, family: number)
        try await part.removeFamily(revoked.family)
        #expect(try await part.record(for: revoked.key) == nil)
        let isHeard: Bool? = await eventually { ended.withLock { $0 == [revoked.family] } ? true : nil }
        #expect(isHeard == true)
        #expect(try await whole.record(for: revoked.key) == nil)
        isPartial.withLock { $0 = false }
        let isWritten: Bool? = await eventually { events.withLock { $0.last } == .revocationsWritten ? true : nil }
        #expect(isWritten == true)
        for number in numbers where number != revoked.key[0] {
            #expect(try await part.record(for: record(number).key) == record(number, family: number))
        }
        let next = try await RedisStore.open(settings)
        #expect(try await next.record(for: revoked.key) == nil)
    }
}
