// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProviderHTTP
import GateTestSupport
import Synchronization
import Testing

@testable import GateOperations

/// A watch over pins, of a provider `staff` unless said otherwise, and all that it tells.
struct PinFixture {
    static let host = "id.example.com"
    /// When a stage begins.
    static let start = TestClock().now

    let clock = TestClock()
    let lines = LogLines()
    let watch: PinWatch

    init(_ policies: [String: PinPolicy?]) {
        self.watch = PinWatch(logger: self.lines.logger, clock: self.clock.clock)
        self.watch.adopt(policies)
    }

    init(_ set: PinSet) {
        self.init(["staff": PinPolicy(standard: set)])
    }

    /// What was told, in order.
    var events: [SecurityEvent] { self.watch.state.withLock { $0.events.newest.reversed() } }

    var hosts: [PinnedHost.Key: PinnedHost] { self.watch.state.withLock { $0.hosts } }

    /// What is known of a host.
    func known(_ host: String = PinFixture.host, of provider: String = "staff") throws -> PinnedHost? {
        self.hosts[PinnedHost.Key(provider: provider, origin: try Self.origin(host))]
    }

    /// Those hosts of a provider that are refused.
    func refused(_ hosts: String..., of provider: String = "staff") throws -> [String] {
        let called = try (hosts.isEmpty ? [Self.host] : hosts).map { try Self.origin($0) }
        return self.watch.rejectedHosts(of: provider, among: called).map(\.origin.host)
    }

    /// A handshake under a set, at the stage's time.
    func observe(
        _ verdict: PinVerdict,
        _ set: PinSet,
        at host: String = PinFixture.host,
        of provider: String = "staff",
        showing keys: UInt8...
    ) throws {
        let handshake = PinnedHandshake(
            provider: provider,
            origin: try Self.origin(host),
            set: set,
            isEnforced: set.demand(at: self.clock.now) == .enforce,
            verdict: verdict,
            certificates: try keys.map { try .stub($0) }
        )
        self.watch.observe(handshake)
    }

    /// A look at the whole chain of a host.
    func survey(
        _ chain: [ProviderCertificate],
        at host: String = PinFixture.host,
        of provider: String = "staff"
    ) throws {
        self.watch.survey(provider, at: try Self.origin(host), chain)
    }

    static func origin(_ host: String = PinFixture.host) throws -> Origin {
        try #require(Origin(scheme: "https", host: host))
    }
}
