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
    private var waiting = CircularBuffer<() -> Bool>()

    /// Runs `ask` now or as soon as others have their result.
    ///
    /// - Parameter ask: Returns whether it has asked: then it ends with ``finished()``, and not at once; false if the tunnel
    ///   needs no result any more.
    func begin(_ ask: @escaping () -> Bool) {
        guard self.concurrent < TunnelChecks.maxConcurrent else { return self.waiting.append(ask) }
        if ask() { self.concurrent += 1 }
    }

    /// A tunnel has its result: the next one that needs one may ask.
    func finished() {
        while let next = self.waiting.popFirst() {
            if next() { return }
        }
        self.concurrent -= 1
    }
}
