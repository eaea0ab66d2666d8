// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Runs tasks on one event loop, so that a sign-in does not change threads with each step.
final class LoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(_ loop: any EventLoop) {
        self.loop = loop
    }

    /// Runs a piece of a task in the loop's next turn.
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.loop.execute { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
