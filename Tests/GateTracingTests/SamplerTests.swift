// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GateTracing

@Suite struct SamplerTests {
    private static func parent(_ isSampled: Bool, low: UInt64 = 1) throws -> TraceParent {
        let trace = try #require(TraceID(high: 1, low: low))
        let context = TraceContext(trace: trace, span: .random(), isSampled: isSampled)
        return try #require(TraceParent(context.traceParent.utf8))
    }

    @Test(arguments: [
        ("always_on", true, true, true), ("always_off", false, false, false),
        ("parentbased_always_on", true, true, false), ("parentbased_always_off", false, true, false),
    ])
    func `the flag of the client counts for the samplers that follow the parent`(
        name: String,
        root: Bool,
        sampled: Bool,
        unsampled: Bool
    ) throws {
        let sampler = try #require(Sampler(name: name, ratio: 1))
        let trace = TraceID.random()
        #expect(sampler.samples(trace, parent: nil, isTrusted: false) == root)
        for isTrusted in [true, false] {
            #expect(try sampler.samples(trace, parent: Self.parent(true), isTrusted: isTrusted) == sampled)
            #expect(try sampler.samples(trace, parent: Self.parent(false), isTrusted: isTrusted) == unsampled)
        }
    }

    @Test(arguments: ["", "alwayson", "always_on ", "ALWAYS_ON", "parentbased_", "jaeger_remote", "traceidratio_x"])
    func `another name is not a sampler`(name: String) {
        #expect(Sampler(name: name, ratio: 1) == nil)
    }

    @Test func `every name that is listed is a sampler`() {
        #expect(Sampler.names.allSatisfy { Sampler(name: $0, ratio: 0.5) != nil })
    }

    @Test func `the ratio chooses by the last bytes of the id, the same in every process`() throws {
        let half = try #require(Sampler(name: "traceidratio", ratio: 0.5))
        let trace = { (low: UInt64) in try #require(TraceID(high: .max, low: low)) }
        #expect(try half.samples(trace(0x7FFF_FFFF_FFFF_0000), parent: nil, isTrusted: false))
        #expect(try !half.samples(trace(0x8000_0000_0001_0000), parent: nil, isTrusted: false))
        let none = try #require(Sampler(name: "traceidratio", ratio: 0))
        let all = try #require(Sampler(name: "traceidratio", ratio: 1))
        for low in [UInt64(1), .max / 2, .max] {
            #expect(try !none.samples(trace(low), parent: nil, isTrusted: true))
            #expect(try all.samples(trace(low), parent: nil, isTrusted: true))
        }
    }

    @Test func `a client cannot choose an id that is always sampled, a trusted proxy can`() throws {
        let rare = try #require(Sampler(name: "traceidratio", ratio: 0.001))
        let chosen = try Self.parent(true, low: 1)
        #expect(rare.samples(chosen.trace, parent: chosen, isTrusted: true))
        // Each of 1,000 is sampled with a probability of 0.001: that 200 are has one below 1 in 10^200.
        let sampled = (0..<1000).count { _ in rare.samples(chosen.trace, parent: chosen, isTrusted: false) }
        #expect(sampled < 200)
    }
}
