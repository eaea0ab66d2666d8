// SPDX-License-Identifier: Apache-2.0

import GateProxy
import GateWire
import NIOCore
import Testing

@Suite struct HTTP1PoolTests {
    @Test func `waiting requests get free connections in order`() throws {
        let fixture = try UpstreamFixture()
        let (first, second) = (Recorder(), Recorder())
        fixture.pool.lease(to: first)
        fixture.pool.lease(to: second)
        fixture.request()
        first.whenReady = { connection in
            connection.send(ByteBuffer(string: "NEXT|"), for: UpstreamRequest(.get))
            connection.finishRequest()
            connection.flush()
        }
        try fixture.receive(response("200 OK", "Content-Length: 0"))
        #expect(first.events == ["ready"] && second.events.isEmpty)
        #expect(try fixture.sent() == "HEAD|NEXT|")
        try fixture.receive(response("201 Created", "Content-Length: 0"))
        #expect(first.events == ["ready", "head 201", "finished"] && second.events == ["ready"])
    }

    @Test func `the queue has a limit`() throws {
        let fixture = try UpstreamFixture { $0.pending = 2 }
        let sinks = [Recorder(), Recorder(), Recorder()]
        for sink in sinks {
            fixture.pool.lease(to: sink)
        }
        #expect(sinks.map(\.failure) == [nil, nil, .overflow])
    }

    @Test func `the documented limits are 512 connections, 256 waiting requests, and four idle seconds`() {
        let limits = UpstreamLimits()
        #expect(limits.connections == 512 && limits.pending == 256 && limits.idle == .seconds(4))
    }

    @Test func `a request that has waited as long as the connect time-out fails`() throws {
        let fixture = try UpstreamFixture { $0.connect = .zero }
        let sink = Recorder()
        fixture.pool.lease(to: sink)
        #expect(sink.failure == nil)
        fixture.pass(0)
        #expect(sink.failure == .overflow && fixture.pool.deadline == .distantFuture)
    }

    @Test func `a request on a closed connection fails immediately`() throws {
        let fixture = try UpstreamFixture()
        fixture.hangUp()
        #expect(fixture.request().failure == .closedBeforeResponse)
    }

    @Test func `a request that left the queue is not served`() throws {
        let fixture = try UpstreamFixture { $0.pending = 1 }
        let (gone, next) = (Recorder(), Recorder())
        fixture.pool.lease(to: gone)
        fixture.pool.cancel(gone)
        fixture.pool.lease(to: next)
        fixture.request()
        try fixture.receive(response("200 OK", "Content-Length: 0"))
        #expect(gone.events.isEmpty && next.events == ["ready"])
    }

    @Test func `a pool that shuts down closes its idle connections and keeps no others`() throws {
        let idle = try UpstreamFixture()
        idle.request()
        try idle.receive(response("200 OK", "Content-Length: 0"))
        idle.pool.shutDown()
        #expect(!idle.isOpen)
        let busy = try UpstreamFixture()
        let sink = busy.request()
        busy.pool.shutDown()
        #expect(busy.isOpen)
        try busy.receive(response("200 OK", "Content-Length: 0"))
        #expect(sink.events.last == "finished" && !busy.isOpen)
    }

    @Test func `a retry never gets a reused connection`() throws {
        let fixture = try UpstreamFixture()
        fixture.request()
        try fixture.receive(response("200 OK", "Content-Length: 0"))
        let sink = Recorder()
        fixture.pool.lease(to: sink, fresh: true)
        #expect(sink.events.isEmpty && fixture.isOpen)
    }
}
