// SPDX-License-Identifier: Apache-2.0

import GateCore
import Synchronization
import Testing

@testable import GateTracing

@Suite struct SpanExporterTests {
    /// A tracer with space for four spans in batches of two, and a collector that responds as a test wants.
    private final class Fixture: Sendable {
        let tracer: Tracer
        let bodies = Mutex<[[UInt8]]>([])
        let pauses = Mutex<[Duration]>([])
        let events = Mutex<[SpanExporter.Report]>([])
        private let deliveries: Mutex<[SpanExporter.Delivery]>
        private let settings: TracingSettings

        init(_ deliveries: [SpanExporter.Delivery] = [], exportTimeout: Duration = .seconds(30)) throws {
            var settings = TracingSettings(endpoint: try #require(WebURL("http://localhost:4318/v1/traces")))
            settings.queueSize = 4
            settings.batchSize = 2
            settings.exportTimeout = exportTimeout
            self.settings = settings
            self.tracer = Tracer(settings)
            self.deliveries = Mutex(deliveries)
        }

        /// The exporter; its pauses end at once.
        var exporter: SpanExporter {
            SpanExporter(of: self.tracer, self.settings) { pause in
                self.pauses.withLock { $0.append(pause) }
            } send: { body in
                self.bodies.withLock { $0.append(body) }
                return self.deliveries.withLock { $0.isEmpty ? .taken : $0.removeFirst() }
            } report: { event in
                self.events.withLock { $0.append(event) }
            }
        }

        func record(_ count: Int) {
            for _ in 0..<count {
                let context = TraceContext(trace: .random(), span: .random(), isSampled: true)
                self.tracer.record(TraceSpan("a", .inside, context: context, parent: nil, began: 0))
            }
        }

        var seen: [SpanExporter.Report] { self.events.withLock { $0 } }
    }

    @Test func `spans are exported in batches, and nothing is sent without spans`() async throws {
        let fixture = try Fixture()
        await fixture.exporter.export()
        #expect(fixture.seen.isEmpty && fixture.bodies.withLock { $0 }.isEmpty)
        fixture.record(3)
        await fixture.exporter.export()
        #expect(fixture.seen == [.exported(2), .exported(1)])
    }

    @Test func `what does not fit into the queue is dropped and counted`() async throws {
        let fixture = try Fixture()
        fixture.record(7)
        await fixture.exporter.export()
        #expect(fixture.seen == [.overflow(3), .exported(2), .exported(2)])
        fixture.record(4)
        await fixture.exporter.export()
        #expect(fixture.seen.suffix(2) == [.exported(2), .exported(2)])
    }

    @Test func `a batch that the collector postpones is sent three times, then dropped`() async throws {
        let fixture = try Fixture([.postponed("a"), .postponed("b"), .taken])
        fixture.record(1)
        await fixture.exporter.export()
        #expect(fixture.seen == [.exported(1)])
        #expect(fixture.pauses.withLock { $0 } == [.seconds(1), .seconds(2)])
        let other = try Fixture([.postponed("a"), .postponed("b"), .postponed("c")])
        other.record(1)
        await other.exporter.export()
        #expect(other.seen == [.failed(1, "c")] && other.bodies.withLock { $0 }.count == 3)
    }

    @Test func `a batch that the collector rejects is dropped at once`() async throws {
        let fixture = try Fixture([.rejected("it responded 400")])
        fixture.record(3)
        await fixture.exporter.export()
        #expect(fixture.seen == [.failed(2, "it responded 400"), .exported(1)])
    }

    @Test func `a batch takes no longer than the time-out of an export`() async throws {
        let fixture = try Fixture([.postponed("a")], exportTimeout: .milliseconds(900))
        fixture.record(1)
        await fixture.exporter.export()
        #expect(fixture.seen == [.failed(1, "a")] && fixture.pauses.withLock { $0 }.isEmpty)
    }

    @Test func `a complete batch is exported before its time, and the rest when the gateway stops`() async throws {
        var settings = TracingSettings(endpoint: try #require(WebURL("http://localhost:4318/v1/traces")))
        settings.batchSize = 2
        let tracer = Tracer(settings)
        let (events, source) = AsyncStream.makeStream(of: SpanExporter.Report.self)
        let exporter = SpanExporter(of: tracer, settings) { _ in
            // Time does not pass: nothing is exported because of its age.
            try? await Task.sleep(for: .seconds(3600))
        } send: { _ in
            .taken
        } report: {
            source.yield($0)
        }
        exporter.start()
        let context = TraceContext(trace: .random(), span: .random(), isSampled: true)
        let span = TraceSpan("a", .inside, context: context, parent: nil, began: 0)
        var next = events.makeAsyncIterator()
        tracer.record(span)
        tracer.record(span)
        #expect(await next.next() == .exported(2))
        tracer.record(span)
        await exporter.stop()
        #expect(await next.next() == .exported(1))
        tracer.record(span)
        await exporter.stop()
        source.finish()
        #expect(await next.next() == nil)
    }

    @Test func `a collector that does not respond holds up the end for a bounded time`() async throws {
        var settings = TracingSettings(endpoint: try #require(WebURL("http://localhost:4318/v1/traces")))
        settings.exportTimeout = .milliseconds(50)
        let tracer = Tracer(settings)
        let events = Mutex<[SpanExporter.Report]>([])
        let exporter = SpanExporter(of: tracer, settings) { _ in
            try? await Task.sleep(for: .seconds(3600))
            return .postponed("no response")
        } report: { event in
            events.withLock { $0.append(event) }
        }
        exporter.start()
        let context = TraceContext(trace: .random(), span: .random(), isSampled: true)
        tracer.record(TraceSpan("a", .inside, context: context, parent: nil, began: 0))
        await exporter.stop()
        #expect(events.withLock { $0 } == [.failed(1, "no response")])
    }
}
