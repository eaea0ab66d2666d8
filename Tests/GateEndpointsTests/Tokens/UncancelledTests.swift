// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateEndpoints
import GateFixtures
import Testing

/// what has to end although the client has left.
@Suite struct UncancelledTests {
    @Test func `work goes on when the task that waits for it is cancelled`() async {
        let (gone, done) = (AsyncStream<Void>.makeStream(), TestFlag())
        let task = Task {
            try? await uncancelled { () throws(Failure) in
                for await _ in gone.stream { break }
                done.value = !Task.isCancelled
            }
        }
        task.cancel()
        gone.continuation.yield()
        _ = await task.value
        #expect(done.value)
    }

    @Test func `its failure is that of the caller`() async {
        let failure = await #expect(throws: Failure.self) {
            try await uncancelled { () throws(Failure) in throw Failure(.sessionNone, "test") }
        }
        #expect(failure?.reason == .sessionNone)
    }
}
