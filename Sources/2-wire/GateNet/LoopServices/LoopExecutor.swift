// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Runs tasks on one event loop, so that a sign-in does not change threads with each step.
package final class LoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    /// Runs tasks on this loop.
    package init(_ loop: any EventLoop) {
        self.loop = loop
    }

    /// Runs a piece of a task in the loop's next turn.
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.loop.execute { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
