// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The callers that wait for a response, by the number of their call.
///
/// Filled by the callers' tasks and emptied by the transport's thread; each caller is resumed exactly once, because
/// resuming starts with taking it out.
final class PendingCalls: Sendable {
    private struct State {
        var last: UInt64 = 0
        var waiting: [UInt64: CheckedContinuation<CallResult, Never>] = [:]
    }

    private let state = Mutex(State())

    /// A number that no other call has.
    func newID() -> UInt64 {
        self.state.withLock { state in
            state.last &+= 1
            return state.last
        }
    }

    /// Makes a caller wait.
    func insert(_ continuation: CheckedContinuation<CallResult, Never>, id: UInt64) {
        self.state.withLock { $0.waiting[id] = continuation }
    }

    /// Resumes the caller, if it still waits.
    func end(_ id: UInt64, with ending: CallResult) {
        let continuation = self.state.withLock { $0.waiting.removeValue(forKey: id) }
        continuation?.resume(returning: ending)
    }
}
