// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateNet
import NIOCore
import Synchronization
import Testing

@testable import GateIngress
@testable import GateRuntime

@Suite struct BlockedLoopTests {
    @Test(.timeLimit(.minutes(1))) func `R-24 a call that holds a loop up for 200 ms is reported`() async throws {
        let loop = try SocketLoop.start(named: "blocked")
        let gateway = try GatewayFixture()
        let (reports, source) = AsyncStream.makeStream(of: TimeAmount.self)
        let runtime = gateway.runtime
        try await loop.submit {
            LoopState(loop: loop, runtime: runtime, clock: .system).start { source.yield($0) }
        }.get()
        // Longer than a tick, so that one is due in it wherever it begins.
        try await loop.submit {
            let end = NIODeadline.now() + .milliseconds(300)
            while .now() < end {}
        }.get()
        // On a busy machine the loop may have been late before, for less than that.
        var iterator = reports.makeAsyncIterator()
        var reported = try #require(await iterator.next())
        while reported < .milliseconds(150) { reported = try #require(await iterator.next()) }
        try await loop.shutdownGracefully()
    }
}
