// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import Synchronization

/// Bounds how many codes for session transfers one family of sessions gets in a minute; shared by all event loops.
package final class TransferLimiter: Sendable {
    /// How many in a minute: as many as a browser with many tabs may need when it starts.
    package static let perMinute = 60
    private static let capacity = 65_536

    private let table = Mutex(RateLimiter<[UInt8]>(capacity: TransferLimiter.capacity))
    private let began = ContinuousClock.now

    /// A limiter that has counted nothing.
    package init() {}

    /// Takes note of one more.
    ///
    /// - Throws: `handover.too_often` if there were too many.
    package func admit(_ family: [UInt8]) throws(Failure) {
        let now = self.began.duration(to: .now)
        let wait = self.table.withLock { $0.take(family, perMinute: TransferLimiter.perMinute, at: now) }
        guard wait == nil else {
            let detail = "over \(TransferLimiter.perMinute) session transfers of one sign-in in a minute"
            throw Failure(.sessionTransferTooOften, detail)
        }
    }
}
