// SPDX-License-Identifier: Apache-2.0

import GateProxy
import NIOCore
import Testing

@Suite struct PoolOverSocketsTests {
    @Test func `consecutive requests share one connection`() async throws {
        let upstream = try await LocalUpstream()
        for _ in 0..<5 {
            #expect(try await upstream.request().response == "1")
        }
        #expect(try await upstream.count == 1)
        try await upstream.close()
    }

    @Test func `the most recently used connection is leased first`() async throws {
        let upstream = try await LocalUpstream()
        let first = upstream.request(waits: true)
        try await first.ready()
        let second = upstream.request(waits: true)
        try await second.ready()
        second.send()
        #expect(try await second.response == "2")
        first.send()
        #expect(try await first.response == "1")
        #expect(try await upstream.request().response == "1")
        #expect(try await upstream.count == 2)
        try await upstream.close()
    }

    @Test func `over the limit of connections a request waits for one`() async throws {
        let upstream = try await LocalUpstream { limits in
            limits.connections = 1
            limits.pending = 1
        }
        let first = upstream.request(waits: true)
        try await first.ready()
        let (second, third) = (upstream.request(), upstream.request())
        #expect(try await third.response == "overflow")
        first.send()
        #expect(try await first.response == "1")
        #expect(try await second.response == "1")
        try await upstream.close()
    }

    @Test func `when a connection closes a waiting request gets a new one`() async throws {
        let upstream = try await LocalUpstream { $0.connections = 1 }
        let first = upstream.request("/close", waits: true)
        try await first.ready()
        let second = upstream.request()
        first.send()
        #expect(try await first.response == "closedBeforeResponse")
        #expect(try await second.response == "2")
        #expect(try await upstream.count == 1)
        try await upstream.close()
    }

    @Test func `an upstream where nothing listens is unreachable, and waiting requests fail`() async throws {
        let upstream = try await LocalUpstream(at: "127.0.0.2") { $0.connections = 1 }
        let requests = [upstream.request(), upstream.request(), upstream.request()]
        for request in requests {
            #expect(try await request.response == "unreachable")
        }
        #expect(try await upstream.count == 0)
        try await upstream.close()
    }
}
