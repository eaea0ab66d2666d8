// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProviders
import Testing

@testable import GateOpenID

@Suite struct KeySetTests {
    private let start = Instant(seconds: 1_790_000_000)

    private func set(_ keys: [JSON]) throws -> KeySet { try KeySet(["keys": .array(keys)], at: self.start) }

    @Test func `an encryption key of the same name is not a candidate`() throws {
        let keys = try self.set([
            TestKey.otherRS256.named("k", ["use": "enc", "alg": "RSA-OAEP"]), TestKey.rs256.named("k", ["use": "sig"]),
        ])
        #expect(keys.candidates(id: "k", algorithm: .rs256).count == 1)
    }

    @Test func `T-34 a name that is there twice is tried with each key of the right kind, at most four`() throws {
        let pair = try self.set([TestKey.otherRS256.named("k"), TestKey.es256.named("k"), TestKey.rs256.named("k")])
        let found = pair.candidates(id: "k", algorithm: .rs256)
        let bytes = Array("x".utf8)
        let signature = try TestKey.rs256.sign(bytes)
        #expect(found.map { $0.verifies(signature, over: bytes, as: .rs256) } == [false, true])
        let many = try self.set(Array(repeating: TestKey.rs256.named("k"), count: 9))
        #expect(many.candidates(id: "k", algorithm: .rs256).count == 4)
    }

    @Test(
        arguments: [("RS384", false), ("RS256", true), ("PS256", false), (nil, true), ("none", false)]
            as [(String?, Bool)]
    )
    func `T-31 a key with an algorithm signs with that one, a key without with those of its kind`(
        algorithm: String?,
        isUsed: Bool
    ) throws {
        let more = algorithm.map { ["alg": JSON.string($0)] } ?? [:]
        let keys = try self.set([TestKey.rs256.named("k", more), TestKey.es256.named("other")])
        #expect(keys.candidates(id: "k", algorithm: .rs256).isEmpty != isUsed)
        #expect(keys.candidates(id: "k", algorithm: .es256).isEmpty)
    }

    // E-11
    @Test func `OIDC Core §10.1: a token without a name needs a set with one key for signatures`() throws {
        let one = [TestKey.rs256.named(nil), TestKey.otherRS256.named("enc", ["use": "enc"])]
        #expect(try self.set(one).candidates(id: nil, algorithm: .rs256).count == 1)
        #expect(try self.set(one).candidates(id: nil, algorithm: .es256).isEmpty)
        for second in [TestKey.otherRS256.named("second"), TestKey.es256.named("e"), TestKey.rs256.named(nil)] {
            #expect(try self.set(one + [second]).candidates(id: nil, algorithm: .rs256).isEmpty)
        }
    }

    // E-11
    @Test func `a key of an earlier set does not reject a token without a name`() throws {
        let earlier = try self.set([TestKey.es256.named("old")])
        let keys = try self.set([TestKey.rs256.named("new")])
            .merged(with: earlier, retention: .seconds(3600), at: self.start)
        #expect(keys.candidates(id: nil, algorithm: .rs256).count == 1)
        #expect(keys.candidates(id: "old", algorithm: .es256).count == 1)
    }

    @Test func `sets that alternate lose no key as long as each comes back in time`() throws {
        let first: [JSON] = [TestKey.rs256.named("a"), TestKey.es256.named("both")]
        let second: [JSON] = [TestKey.es256.named("both"), TestKey.es384.named("b")]
        var held = try self.set(first)
        var now = self.start
        for round in 1...40 {
            now = now.advanced(by: .seconds(3000))
            held = try KeySet(["keys": .array(round.isMultiple(of: 2) ? first : second)], at: now)
                .merged(with: held, retention: .seconds(3600), at: now)
            #expect(held.contains("a") && held.contains("b") && held.contains("both"))
        }
        let gone = now.advanced(by: .seconds(3600))
        held = try KeySet(["keys": .array(second)], at: gone).merged(with: held, retention: .seconds(3600), at: gone)
        #expect(!held.contains("a"))
    }

    @Test func `a provider that shows new keys all the time fills no memory`() throws {
        var held = try self.set([TestKey.es256.named("first")])
        for round in 0..<20 {
            let now = self.start.advanced(by: .seconds(Int64(round)))
            let keys = (0..<100).map { TestKey.es256.named("k\(round)-\($0)") }
            held = try KeySet(["keys": .array(keys)], at: now).merged(with: held, retention: .seconds(86_400), at: now)
        }
        let names = (0..<20).flatMap { round in (0..<100).map { "k\(round)-\($0)" } }
        #expect(names.filter { held.contains($0) }.count == 300)
        #expect(held.contains("k19-0") && held.contains("k18-0") && held.contains("k17-0") && !held.contains("k16-0"))
    }

    @Test func `a nonce that may be missing may still not be another`() async throws {
        var settings = ProviderFixture.settings()
        settings.nonce = .ifPresent
        for (change, code) in [
            (["nonce": nil], nil), (["nonce": "other"], "id_token.nonce"), (["nonce": 1], "id_token.nonce"),
            (["nonce": .null], "id_token.nonce"), (["nonce": nil, "nonce_supported": true], "id_token.nonce"),
            ([:], nil),
        ] as [([String: JSON?], String?)] {
            let fixture = try ProviderFixture(settings)
            let (_, attempt) = try await fixture.begin()
            try fixture.issue(for: attempt, change)
            #expect(await fixture.rejection(fixture.callback(attempt), attempt) == code)
        }
        let strict = try ProviderFixture()
        let (_, attempt) = try await strict.begin()
        try strict.issue(for: attempt, ["nonce": nil])
        #expect(await strict.rejection(strict.callback(attempt), attempt) == "id_token.nonce")
    }

    @Test func `a key set is fetched again before it is old, and no sign-in waits for that`() async throws {
        let fixture = try ProviderFixture()
        let address = "\(ProviderFixture.issuer)/keys"
        fixture.transport.stub(address, ["keys": [TestKey.rs256.named("k1")]], age: "1000")
        try await fixture.party.prepare()
        fixture.clock.advance(by: 799)
        try await fixture.party.prepare()
        #expect(fixture.transport.count(address) == 1)
        fixture.clock.advance(by: 1)
        try await fixture.party.prepare()
        while fixture.transport.count(address) == 1 { await Task.yield() }
        #expect(fixture.transport.count(address) == 2)
    }

    @Test func `if the key set responds with 500, the cached keys are good for a day beyond their time`() async throws {
        let fixture = try ProviderFixture()
        try await fixture.party.prepare()
        fixture.transport.stub("\(ProviderFixture.issuer)/keys", 500, "")
        fixture.clock.advance(by: 3600 + 86_399)
        try await fixture.party.prepare()
        fixture.clock.advance(by: 11)
        await #expect(throws: Failure.self) { try await fixture.party.prepare() }
    }

    @Test func `X-20: while the key set cannot be fetched, a withdrawn key is trusted no longer than the file allows`()
        async throws
    {
        for (limit, delay, code) in [
            (nil, 3600 + 86_399, nil), (.seconds(600), 3600 + 599, nil), (.seconds(600), 3600 + 601, "refused"),
            (.zero, 3601, "refused"),
        ] as [(Duration?, Int64, String?)] {
            var settings = ProviderFixture.settings()
            settings.keysMaxStale = limit
            let fixture = try ProviderFixture(settings)
            try await fixture.party.prepare()
            #expect(fixture.party.keyAge?.isStale == false)
            fixture.transport.stub("\(ProviderFixture.issuer)/keys", 503, "")
            fixture.clock.advance(by: delay)
            let isRefused = (try? await fixture.party.prepare()) == nil
            #expect(isRefused == (code != nil))
            #expect((fixture.party.keyAge?.isStale ?? false) != isRefused)
        }
    }

    @Test func `a provider that names no keys may change its key, which one fetch in thirty seconds finds`()
        async throws
    {
        let fixture = try ProviderFixture()
        let address = "\(ProviderFixture.issuer)/keys"
        let outcome = { (key: TestKey) async throws -> String? in
            let (_, attempt) = try await fixture.begin()
            try fixture.issue(for: attempt, by: key, kid: nil)
            return await fixture.rejection(fixture.callback(attempt), attempt)
        }
        fixture.transport.stub(address, ["keys": [TestKey.rs256.named(nil)]])
        #expect(try await outcome(.rs256) == nil)
        #expect(fixture.transport.count(address) == 1)
        fixture.transport.stub(address, ["keys": [TestKey.otherRS256.named(nil)]])
        #expect(try await outcome(.otherRS256) == nil)
        #expect(fixture.transport.count(address) == 2)
        for _ in 0..<5 { #expect(try await outcome(.rs256) == "id_token.signature") }
        #expect(fixture.transport.count(address) == 2)
    }
}
