// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Lets at most one reload wait: the one that will begin reads what all who asked for it meanwhile want read.
final class ReloadQueue: Sendable {
    private let isWaiting = Atomic<Bool>(false)
    private let isBySignal = Atomic<Bool>(false)
    private let enqueue: @Sendable () -> Void

    /// A queue that calls `enqueue` for each reload that is to be done.
    init(enqueue: @escaping @Sendable () -> Void) {
        self.enqueue = enqueue
    }

    /// Asks for a reload, because of a signal or of a changed file.
    func request(bySignal: Bool = false) {
        if bySignal { self.isBySignal.store(true, ordering: .releasing) }
        guard !self.isWaiting.exchange(true, ordering: .acquiringAndReleasing) else { return }
        self.enqueue()
    }

    /// The reload begins; who asks from now on gets another.
    ///
    /// - Returns: What has caused it, for the log.
    @discardableResult
    func begin() -> String {
        self.isWaiting.store(false, ordering: .releasing)
        return self.isBySignal.exchange(false, ordering: .acquiringAndReleasing) ? "signal" : "file"
    }
}
