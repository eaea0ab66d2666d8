// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProxy
import GateRedis
import GateSessions
import GateTestSupport
import Synchronization
import Testing

/// B-17: what a new master gets, with a server in the place of a sentinel, and two masters without replicas.
@Suite struct RedisSettlingTests {
    /// The server that the sentinel names, and what the second master was sent.
    private final class Script: Sendable {
        let port = Mutex(0)
        let adds = Mutex(0)
        let probes = Mutex(0)
    }

    private struct Masters {
        let first: RedisProxy
        let second: RedisProxy
        let sentinel: RedisProxy
        let store: RedisStore
        private let servers: [RedisServer]
        private let script: Script
        private let sentinelProbe: RedisProbe
        private let secondProbe: RedisProbe

        /// A store at the first master.
        init() async throws {
            let (first, second, sentinel) = (try RedisServer(), try RedisServer(), try RedisServer())
            let script = Script()
            let firstProxy = try await RedisProxy(first, hasPort: true) { _, _ in .pass }
            let port = try #require(firstProxy.port)
            script.port.withLock { $0 = port }
            self.script = script
            self.first = firstProxy
            self.second = try await RedisProxy(second, hasPort: true) { name, key in
                if name == "addRecord" { script.adds.withLock { $0 += 1 } }
                if key == "gatehouse:check" { script.probes.withLock { $0 += 1 } }
                return .pass
            }
            self.sentinel = try await RedisProxy(sentinel) { name, _ in
                guard name == "SENTINEL" else { return .pass }
                let port = script.port.withLock { "\($0)" }
                return .reply("*2\r\n$9\r\n127.0.0.1\r\n$\(port.utf8.count)\r\n\(port)\r\n")
            }
            self.sentinelProbe = try RedisProbe(sentinel)
            self.secondProbe = try RedisProbe(second)
            // The proxies do not keep the servers.
            self.servers = [first, second, sentinel]
            var settings = RedisSettings(.sentinels([.unix(path: self.sentinel.socket)], master: "main"))
            settings.beginPatiently()
            self.store = try await RedisStore.open(settings)
            try await self.store.check()
            // The messages of the sentinel are heard from now on.
            let isHeard: Bool? = await eventually {
                try RedisProbe(sentinel).run("PUBSUB", "NUMSUB", "+switch-master")[1] == "1" ? true : nil
            }
            #expect(isHeard == true)
        }

        var adds: Int { self.script.adds.withLock { $0 } }
        var probes: Int { self.script.probes.withLock { $0 } }

        func setReplicas(needed count: Int) throws {
            #expect(try self.secondProbe.run("CONFIG", "SET", "min-replicas-to-write", "\(count)") == ["OK"])
        }

        /// The sentinel names the second master, and reports it as often as several sentinels do.
        func failOver() throws {
            let ports = (try #require(self.first.port), try #require(self.second.port))
            self.script.port.withLock { $0 = ports.1 }
            let promoted = "slave a 127.0.0.1 \(ports.1) @ main 127.0.0.1 \(ports.0)"
            try self.sentinelProbe.run("PUBLISH", "+promoted-slave", promoted)
            let switched = "main 127.0.0.1 \(ports.0) 127.0.0.1 \(ports.1)"
            for _ in 0..<3 { try self.sentinelProbe.run("PUBLISH", "+switch-master", switched) }
        }

        func abort() throws {
            try self.sentinelProbe.run("PUBLISH", "-failover-abort-slave-timeout", "master main 127.0.0.1 1")
        }
    }

    @Test func `B-17: a new master that lacks replicas gets the writes of the last seconds once, when it accepts them`()
        async throws
    {
        // What is older than ten seconds is not sent again, so only a run that was quicker shows it.
        for _ in 0..<20 {
            let began = ContinuousClock.now
            let masters = try await Masters()
            for number: UInt8 in 1...20 { try await masters.store.insert(record(number, family: number)) }
            try masters.setReplicas(needed: 1)
            try masters.failOver()
            let isProbed: Bool? = await eventually { masters.probes > 5 ? true : nil }
            #expect(isProbed == true)
            #expect(masters.adds == 0)
            let store = masters.store
            async let late: Void = store.insert(record(21, family: 21))
            try masters.setReplicas(needed: 0)
            let isWritten = (try? await late) != nil
            guard began.duration(to: .now) < .seconds(4) else { continue }
            #expect(isWritten)
            for number: UInt8 in 1...21 {
                #expect(try await masters.store.record(for: record(number).key) == record(number, family: number))
            }
            #expect(masters.adds == 21)
            return
        }
        Issue.record("no run was quick enough")
    }

    @Test func `B-17: a new master gets the writes of the last seconds also after the wait for it is over`()
        async throws
    {
        for _ in 0..<20 {
            let began = ContinuousClock.now
            let masters = try await Masters()
            try await masters.store.insert(record(1, family: 1))
            try masters.setReplicas(needed: 1)
            try masters.failOver()
            let isProbed: Bool? = await eventually { masters.probes > 2 ? true : nil }
            #expect(isProbed == true)
            try masters.abort()
            // Writes do not wait any more: the master itself rejects them.
            let isRejected: Bool? = await eventually {
                do throws(Failure) {
                    try await masters.store.insert(record(9, family: 9))
                    return nil
                } catch {
                    return error.detail.contains("NOREPLICAS") ? true : nil
                }
            }
            #expect(isRejected == true)
            #expect(try await masters.store.record(for: record(1).key) == nil)
            try masters.setReplicas(needed: 0)
            guard began.duration(to: .now) < .seconds(4) else { continue }
            let found = await eventually { try await masters.store.record(for: record(1).key) }
            #expect(found == record(1, family: 1))
            return
        }
        Issue.record("no run was quick enough")
    }
}
