// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateCore
import GateOpenID
import Synchronization
import Testing

@testable import GateProviderHTTP

/// Pins against a real server: a leaf `good` below the root `ca`.
@Suite struct PinnedTransportTests {
    private let server: LocalProvider
    private let seen = Seen()

    private final class Seen: Sendable {
        let handshakes = Mutex<[PinnedHandshake]>([])
        var verdicts: [PinVerdict] { self.handshakes.withLock { $0.map(\.verdict) } }
    }

    init() throws {
        self.server = try LocalProvider.shared.get()
    }

    private func pin(_ name: String) throws -> Pin {
        let text = name == "certificate" ? try self.server.openssl().certificatePin : try self.server.pin(name)
        return try #require(Pin(base64: text))
    }

    private func set(_ names: [String], _ match: PinSet.Match, _ mode: PinSet.Mode = .enforce) throws -> PinSet {
        PinSet(match: match, mode: mode, pins: try names.map { try self.pin($0) })
    }

    private func transport(
        _ set: PinSet,
        hosts: [String: PinSet] = [:],
        ca: String? = nil,
        clock: WallClock = .system,
    ) throws -> CurlTransport {
        let authorities = Array(try Data(contentsOf: URL(filePath: ca ?? self.server.ca)))
        let trust = ProviderTrust(authorities: authorities, pins: PinPolicy(standard: set, hosts: hosts))
        let seen = self.seen
        return try CurlTransport(to: "id", trust: trust, clock: clock) { handshake in
            seen.handshakes.withLock { $0.append(handshake) }
        }
    }

    private func request(_ target: String, port: String = "tls") throws -> ProviderRequest {
        ProviderRequest(
            method: "POST",
            address: try #require(self.server.address(port, target)),
            headers: [],
            body: Array("code=secret".utf8),
            limit: 65_536,
            timeout: .seconds(10),
        )
    }

    private func code(_ transport: CurlTransport, _ target: String = "/landed", port: String = "tls") async -> String {
        do {
            return "\(try await transport.response(to: try self.request(target, port: port)).status)"
        } catch {
            return (error as? Failure)?.code ?? "\(error)"
        }
    }

    @Test(arguments: [
        ("good", PinSet.Match.publicKey, 0), ("certificate", .certificate, 0), ("good", .chain, 0), ("ca", .chain, 1),
    ])
    func `a pin matches what its set compares it with`(name: String, match: PinSet.Match, position: Int) async throws {
        let transport = try self.transport(try self.set(["other", name], match))
        #expect(await self.code(transport, "/exact") == "200")
        #expect(self.seen.verdicts == [.matched(pin: 1, position: position)])
        let handshake = try #require(self.seen.handshakes.withLock { $0.first })
        #expect(handshake.isEnforced && handshake.provider == "id" && handshake.certificates.count == 2)
    }

    @Test(arguments: [
        ("ca", PinSet.Match.publicKey), ("ca", .certificate), ("good", .certificate), ("certificate", .publicKey),
        ("certificate", .chain), ("other", .chain),
    ])
    func `anything else is a mismatch, and no request arrives`(name: String, match: PinSet.Match) async throws {
        let transport = try self.transport(try self.set([name, "other"], match))
        #expect(await self.code(transport) == "provider.pin_mismatch")
        #expect(self.seen.verdicts == [.mismatched])
        #expect(try self.server.count("landed") == 0)
        let shown = self.seen.handshakes.withLock { $0.first?.certificates.first?.publicKeyPin }
        #expect(try shown == self.pin("good"))
    }

    @Test func `of several pins in a chain the first of the file counts`() async throws {
        #expect(await self.code(try self.transport(try self.set(["ca", "good"], .chain)), "/exact") == "200")
        #expect(await self.code(try self.transport(try self.set(["good", "ca"], .chain)), "/exact") == "200")
        #expect(self.seen.verdicts == [.matched(pin: 0, position: 1), .matched(pin: 0, position: 0)])
    }

    @Test func `in mode report a mismatch is seen and the call goes on`() async throws {
        let transport = try self.transport(try self.set(["other"], .publicKey, .report))
        #expect(await self.code(transport, "/exact") == "200")
        #expect(self.seen.verdicts == [.mismatched])
        #expect(self.seen.handshakes.withLock { $0.first?.isEnforced } == false)
    }

    @Test(arguments: [("wrong_name", "bad"), ("tls", "good")])
    func `a right pin overrules neither the name nor the authority`(port: String, name: String) async throws {
        let ca = port == "tls" ? self.server.otherCA : self.server.ca
        let transport = try self.transport(try self.set([name, "other"], .publicKey), ca: ca)
        #expect(await self.code(transport, port: port) == "provider.tls")
        #expect(self.seen.verdicts.isEmpty)
    }

    @Test func `a kept connection is used again without another handshake`() async throws {
        let transport = try self.transport(try self.set(["good", "other"], .publicKey))
        for _ in 0..<5 { #expect(await self.code(transport, "/exact") == "200") }
        #expect(self.seen.verdicts.count == 1)
    }

    @Test func `a call after a warming makes no handshake, and a warming after a call none either`() async throws {
        let transport = try self.transport(try self.set(["good", "other"], .publicKey))
        let origin = try self.request("/exact").address.origin
        await transport.warm(origin)
        #expect(self.seen.verdicts.count == 1)
        #expect(await self.code(transport, "/exact") == "200")
        await transport.warm(origin)
        #expect(self.seen.verdicts.count == 1)
    }

    @Test func `a host has the set of its own name, whatever the port`() async throws {
        let right = try self.set(["good", "other"], .publicKey)
        let wrong = try self.set(["other", "ca"], .publicKey)
        #expect(await self.code(try self.transport(wrong, hosts: ["localhost": right]), "/exact") == "200")
        let code = await self.code(try self.transport(right, hosts: ["localhost": wrong]))
        #expect(code == "provider.pin_mismatch")
    }

    @Test func `a host for which there is no pin is not even called`() async throws {
        let none = PinSet(pins: [])
        let transport = try self.transport(none, hosts: ["id.example": try self.set(["good", "other"], .publicKey)])
        #expect(await self.code(transport) == "provider.pin_missing")
        #expect(await self.code(transport, port: "closed") == "provider.pin_missing")
    }

    @Test func `plain http shows no key, so it is refused where pins are enforced`() async throws {
        let enforced = try self.transport(try self.set(["good", "other"], .publicKey))
        #expect(await self.code(enforced, "/exact", port: "plain") == "provider.pin_insecure")
        let reported = try self.transport(try self.set(["good", "other"], .publicKey, .report))
        #expect(await self.code(reported, "/exact", port: "plain") == "200")
    }

    @Test(arguments: [
        (PinSet.Expired.report, Int64(99), "provider.pin_mismatch"), (.report, 100, "200"),
        (.reject, 99, "provider.pin_mismatch"), (.reject, 100, "provider.pins_expired"),
    ])
    func `from the day on which a set expires it reports, or refuses all`(
        expired: PinSet.Expired,
        now: Int64,
        outcome: String,
    ) async throws {
        var set = try self.set(["other", "ca"], .publicKey)
        set.expires = Instant(seconds: 100)
        set.expired = expired
        let transport = try self.transport(set, clock: .fixed(Instant(seconds: now)))
        #expect(await self.code(transport, "/exact") == outcome)
    }

    @Test func `after an exchange of pins the next call makes a handshake of its own`() async throws {
        let board = ProviderTransports(["id": try self.transport(try self.set(["good", "other"], .publicKey))])
        let request = try self.request("/exact")
        #expect(try await board.response(to: request, provider: "id").status == 200)
        board.connect("id", over: try self.transport(try self.set(["other", "ca"], .publicKey)))
        let failure = await #expect(throws: Failure.self) { try await board.response(to: request, provider: "id") }
        #expect(failure?.reason == .providerPinMismatch)
        #expect(self.seen.verdicts == [.matched(pin: 0, position: 0), .mismatched])
    }

    @Test func `connections made under other pins end with the calls on them`() async throws {
        let board = ProviderTransports(["id": try self.transport(try self.set(["good", "other"], .publicKey))])
        weak let old = try board.transport(to: "id")
        let before = try self.server.count("silent")
        let silent = try self.request("/silent")
        let task = Task { try await board.response(to: silent, provider: "id") }
        while try self.server.count("silent") == before { await Task.yield() }
        board.connect("id", over: try self.transport(try self.set(["other", "ca"], .publicKey)))
        #expect(old != nil)
        task.cancel()
        _ = await task.result
        while old != nil { await Task.yield() }
    }
}
