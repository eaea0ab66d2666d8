// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Lets the tunnels of one event loop ask the session store or an issuer a few at a time; confined to that loop.
///
/// After a reload all tunnels are checked. They wait here for their turn, not among the requests, which have a limit of
/// their own and would be rejected.
final class TunnelChecks {
    /// How many tunnels ask at the same time.
    static let maxConcurrent = 32

    /// How many ask at the moment.
    private(set) var concurrent = 0
    private var waiting = CircularBuffer<() -> Void>()

    /// Runs `ask` now or as soon as others have their result; it ends with ``finished()``.
    func begin(_ ask: @escaping () -> Void) {
        guard self.concurrent < TunnelChecks.maxConcurrent else { return self.waiting.append(ask) }
        self.concurrent += 1
        ask()
    }

    /// A tunnel has its result, or needs none any more: the next one may ask.
    func finished() {
        guard let next = self.waiting.popFirst() else {
            self.concurrent -= 1
            return
        }
        next()
    }
}
