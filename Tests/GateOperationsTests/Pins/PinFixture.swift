// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProviderHTTP
import Synchronization
import Testing

@testable import GateServer

/// A watch over pins, of a provider `staff` unless said otherwise, and all that it tells.
struct PinFixture {
    static let host = "id.example.com"
    /// When a stage begins.
    static let start = TestClock().now

    let clock = TestClock()
    let lines = LogLines()
    let watch: PinWatch

    init(_ policies: [String: PinPolicy?]) {
        self.watch = PinWatch(log: self.lines.log, clock: self.clock.clock)
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
        return self.watch.refusals(of: provider, among: called).map(\.origin.host)
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

extension Pin {
    /// The hash of the key with that number.
    static func stub(_ key: UInt8) throws -> Pin {
        try #require(Pin([UInt8](repeating: key, count: Pin.length)))
    }
}

extension PinSet {
    /// A set of keys by their numbers.
    static func stub(
        _ keys: UInt8...,
        match: Match = .publicKey,
        mode: Mode = .enforce,
        expires: Instant? = nil,
        expired: Expired = .report,
        preset: String? = nil
    ) throws -> PinSet {
        let pins = try keys.map { try Pin.stub($0) }
        return PinSet(match: match, mode: mode, pins: pins, expires: expires, expired: expired, preset: preset)
    }
}

extension ProviderCertificate {
    /// The certificate of a key by its number; the hash of the certificate itself is that number and 100.
    ///
    /// - Parameters:
    ///   - key: The number of the key.
    ///   - subject: Whose certificate it is.
    ///   - age: Since when it is valid.
    ///   - left: How long it is valid yet.
    /// - Returns: The certificate, valid around the start of a stage.
    /// - Throws: If the number makes no pin.
    static func stub(
        _ key: UInt8,
        _ subject: String = "CN=id.example.com",
        age: Duration = .days(200),
        left: Duration = .days(200)
    ) throws -> ProviderCertificate {
        try .stub(Pin.stub(key), subject, age: age, left: left, certificate: .stub(key + 100))
    }

    /// The certificate of a key with that pin.
    static func stub(
        _ pin: Pin?,
        _ subject: String,
        age: Duration = .days(200),
        left: Duration = .days(200),
        certificate: Pin? = nil
    ) -> ProviderCertificate {
        ProviderCertificate(
            subject: subject,
            issuer: "CN=Authority",
            notBefore: PinFixture.start.advanced(by: .zero - age),
            notAfter: PinFixture.start.advanced(by: left),
            publicKeyPin: pin,
            certificatePin: certificate
        )
    }
}

extension Duration {
    static func days(_ count: Int64) -> Duration { .seconds(count * 86_400) }
}
