// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import Synchronization

/// The pushed authorization requests that no sign-in has used yet.
///
/// RFC 9126 §2.2.
final class PushedRequests: Sendable {
    /// The lifetime of a request in seconds.
    static let lifetime: Int64 = 300
    private static let limit = 1024

    private let clock: WallClock
    private let state = Mutex<[String: (form: Form, expires: Instant)]>([:])

    init(clock: WallClock) {
        self.clock = clock
    }

    /// Stores a request; returns the `request_uri` for the browser.
    func insert(_ form: Form, _ random: RandomBytes) -> String {
        let name = "urn:ietf:params:oauth:request_uri:\(random.token(24))"
        let now = self.clock.now
        self.state.withLock { state in
            if state.count >= Self.limit { state = state.filter { $0.value.expires > now } }
            if state.count < Self.limit { state[name] = (form, now.advanced(by: .seconds(Self.lifetime))) }
        }
        return name
    }

    /// The request of a `request_uri`, until it is removed or expires.
    func request(_ name: String) -> Form? {
        let found = self.state.withLock { $0[name] }
        return found.flatMap { $0.expires > self.clock.now ? $0.form : nil }
    }

    /// Removes a request after its sign-in.
    func remove(_ name: String) {
        self.state.withLock { $0[name] = nil }
    }
}
