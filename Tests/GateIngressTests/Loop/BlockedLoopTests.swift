// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateFixtures
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
        // A busy machine may hold the loop up before.
        let reported = await reports.first { $0 >= .milliseconds(150) }
        #expect(reported != nil)
        try await loop.shutdownGracefully()
    }
}
