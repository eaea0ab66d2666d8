// SPDX-License-Identifier: Apache-2.0

package import GateConfiguration
package import GateCore
internal import Synchronization

/// Limits how many registrations and fetches of metadata documents the clients of a network cause; shared by all event loops.
package final class OpenClientLimiter: Sendable {
    private static let capacity = 16_384

    private let table = Mutex(RateLimiter<ClientNetwork>(capacity: OpenClientLimiter.capacity))
    private let began = ContinuousClock.now

    /// A limiter that has counted nothing.
    package init() {}

    /// Takes note of one more; as many are possible as sign-ins, and they are counted apart from those.
    ///
    /// - Throws: `signin.too_often` if there were too many.
    package func admit(_ client: IPAddress?, within limits: SignInLimits) throws(Failure) {
        guard let client else { return }
        let now = self.began.duration(to: .now)
        let wait = self.table.withLock {
            $0.take(ClientNetwork(of: client), perMinute: limits.perMinute, at: now)
        }
        guard wait == nil else {
            let detail = "over \(limits.perMinute) new clients a minute from one address"
            throw Failure(.signInTooOften, detail)
        }
    }
}
