// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Synchronization

/// Runs blocking calls one after the other on a thread of its own, so that a caller waits for its turn without a thread.
///
/// A call costs one hop to that thread and one back; GRDB's asynchronous calls cost four.
final class CallQueue: Sendable {
    private let queue: DispatchQueue

    init(_ label: String) {
        self.queue = DispatchQueue(label: label)
    }

    /// The result of a call, when it is its turn.
    ///
    /// - Throws: What the call throws; `CancellationError` if the task was cancelled before its turn.
    func run<Value: Sendable>(_ call: @escaping @Sendable () throws -> Value) async throws -> Value {
        let cancelled = Flag()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                self.queue.async {
                    continuation.resume(
                        with: Result {
                            guard !cancelled.isSet.load(ordering: .relaxed) else { throw CancellationError() }
                            return try call()
                        }
                    )
                }
            }
        } onCancel: {
            cancelled.isSet.store(true, ordering: .relaxed)
        }
    }

    private final class Flag: Sendable {
        let isSet = Atomic<Bool>(false)
    }
}
