// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GateTracing

@Suite struct TracerTests {
    private static func tracer(_ sampler: Sampler) throws -> Tracer {
        var settings = TracingSettings(endpoint: try #require(WebURL("http://localhost:4318/v1/traces")))
        settings.sampler = sampler
        return Tracer(settings)
    }

    @Test func `a span of a task belongs to the request that the task works for`() async throws {
        let tracer = try Self.tracer(Sampler(.none, followsParent: true))
        let request = TraceContext(trace: .random(), span: .random(), isSampled: true)
        await TraceContext.running(under: request) {
            // A task that outlives the request still works for it.
            await Task {
                guard let active = tracer.begin("a", .client, beginsTrace: false) else { return }
                tracer.end(active)
            }.value
        }
        let spans = tracer.takeAll()
        #expect(spans.map(\.context.trace) == [request.trace] && spans.map(\.parent) == [request.span])
        #expect(spans.allSatisfy { $0.ended >= $0.began && $0.began > 1_700_000_000_000_000_000 })
    }

    @Test func `a request that is not sampled has no spans`() async throws {
        let tracer = try Self.tracer(Sampler(.all, followsParent: true))
        let request = TraceContext(trace: .random(), span: .random(), isSampled: false)
        await TraceContext.running(under: request) {
            #expect(tracer.begin("a", .client, beginsTrace: true) == nil)
        }
    }

    @Test func `work outside of requests is a trace of its own only where that is wanted`() throws {
        let tracer = try Self.tracer(Sampler(.all, followsParent: true))
        #expect(tracer.begin("a", .client, beginsTrace: false) == nil)
        let active = try #require(tracer.begin("a", .client, beginsTrace: true))
        #expect(active.span.parent == nil)
        #expect(try Self.tracer(Sampler(.none, followsParent: true)).begin("a", .client, beginsTrace: true) == nil)
    }
}
