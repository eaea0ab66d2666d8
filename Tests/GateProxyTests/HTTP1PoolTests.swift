// SPDX-License-Identifier: Apache-2.0

import GateProxy
import GateWire
import NIOCore
import Testing

@Suite struct HTTP1PoolTests {
    @Test func `who waits in the line gets the next free connection, the first one first`() throws {
        let stage = try UpstreamFixture()
        let (first, second) = (Recorder(), Recorder())
        stage.pool.lease(to: first)
        stage.pool.lease(to: second)
        stage.request()
        first.whenReady = { connection in
            connection.send(ByteBuffer(string: "NEXT|"), for: UpstreamRequest(.get))
            connection.finishRequest()
            connection.flush()
        }
        try stage.answer(answer("200 OK", "Content-Length: 0"))
        #expect(first.events == ["ready"] && second.events.isEmpty)
        #expect(try stage.sent() == "HEAD|NEXT|")
        try stage.answer(answer("201 Created", "Content-Length: 0"))
        #expect(first.events == ["ready", "head 201", "finished"] && second.events == ["ready"])
    }

    @Test func `the line has a bound`() throws {
        let stage = try UpstreamFixture { $0.pending = 2 }
        let sinks = [Recorder(), Recorder(), Recorder()]
        for sink in sinks {
            stage.pool.lease(to: sink)
        }
        #expect(sinks.map(\.problem) == [nil, nil, .overflow])
    }

    @Test func `the documented bounds are 512 connections, 256 in the line, and four idle seconds`() {
        let limits = UpstreamLimits()
        #expect(limits.connections == 512 && limits.pending == 256 && limits.idle == .seconds(4))
    }

    @Test func `who has waited as long as a connection may take is turned away`() throws {
        let stage = try UpstreamFixture { $0.connect = .zero }
        let sink = Recorder()
        stage.pool.lease(to: sink)
        #expect(sink.problem == nil)
        stage.pass(0)
        #expect(sink.problem == .overflow && stage.pool.deadline == .distantFuture)
    }

    @Test func `a request on a connection that is gone fails at once`() throws {
        let stage = try UpstreamFixture()
        stage.hangUp()
        #expect(stage.request().problem == .closedBeforeResponse)
    }

    @Test func `who leaves the line is not served`() throws {
        let stage = try UpstreamFixture { $0.pending = 1 }
        let (gone, next) = (Recorder(), Recorder())
        stage.pool.lease(to: gone)
        stage.pool.cancel(gone)
        stage.pool.lease(to: next)
        stage.request()
        try stage.answer(answer("200 OK", "Content-Length: 0"))
        #expect(gone.events.isEmpty && next.events == ["ready"])
    }

    @Test func `a pool that is given up closes its idle connections and keeps no others`() throws {
        let idle = try UpstreamFixture()
        idle.request()
        try idle.answer(answer("200 OK", "Content-Length: 0"))
        idle.pool.shutDown()
        #expect(!idle.isOpen)
        let busy = try UpstreamFixture()
        let sink = busy.request()
        busy.pool.shutDown()
        #expect(busy.isOpen)
        try busy.answer(answer("200 OK", "Content-Length: 0"))
        #expect(sink.events.last == "finished" && !busy.isOpen)
    }

    @Test func `a second try never gets a connection that was used before`() throws {
        let stage = try UpstreamFixture()
        stage.request()
        try stage.answer(answer("200 OK", "Content-Length: 0"))
        let sink = Recorder()
        stage.pool.lease(to: sink, fresh: true)
        #expect(sink.events.isEmpty && stage.isOpen)
    }
}
