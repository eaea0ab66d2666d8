// SPDX-License-Identifier: Apache-2.0

import GateCore
import Synchronization
import Testing

@testable import GateSessions

@Suite struct SessionCardTests {
    private let host = "gate.example.com"

    private func record(of fixture: SessionFixture) throws -> SessionRecord {
        try #require(fixture.store.state.withLock { $0.records.values.first })
    }

    @Test func `a card has what an operator needs to recognize a session`() async throws {
        let fixture = SessionFixture()
        var signIn = SignIn(profile: .ada)
        signIn.device = "Firefox on Linux"
        let issued = try await fixture.manager.issue(signIn, host: self.host, now: noon)
        let page = try await fixture.manager.sessions(from: [], limit: 10, now: noon.plus(60))
        let listed = try #require(page.items.first)
        #expect(page.items.count == 1 && page.next == nil)
        #expect(listed.family == issued.session.familyKey)
        #expect(listed.created == noon && listed.lastSeen == noon && listed.expires == noon.plus(3600))
        let card = try #require(listed.card)
        #expect(card.id == issued.session.id)
        #expect(card.user == "google:104729384756102938475" && card.provider == "google" && card.host == self.host)
        #expect(card.name == "Ada Lovelace \u{1F600}" && card.email == "ada@example.com")
        #expect(card.created == noon && card.authTime == noon.plus(-5) && card.device == "Firefox on Linux")
    }

    @Test func `a card opens with the gateway secret and its own record only`() async throws {
        let fixture = SessionFixture()
        _ = try await fixture.signedIn()
        var record = try self.record(of: fixture)
        #expect(SessionCard(of: record, by: fixture.sealer) != nil)
        #expect(SessionCard(of: record, by: Sealer([Secret([UInt8](repeating: 8, count: 32))])) == nil)
        record.key[0] ^= 1
        #expect(SessionCard(of: record, by: fixture.sealer) == nil)
    }

    @Test func `a card does not open as a session, nor a session as a card`() async throws {
        let fixture = SessionFixture()
        let issued = try await fixture.signedIn()
        fixture.store.state.withLock { state in
            for (key, record) in state.records { state.records[key]?.sealed = record.card }
        }
        #expect(try await fixture.manager.session(for: issued.ticket, host: self.host, now: noon) == nil)
        var record = try self.record(of: fixture)
        record.card = record.sealed.reversed()
        #expect(SessionCard(of: record, by: fixture.sealer) == nil)
    }

    @Test func `a record whose card cannot be opened is listed with its times only`() async throws {
        let fixture = SessionFixture()
        _ = try await fixture.signedIn()
        fixture.store.state.withLock { state in
            for key in state.records.keys { state.records[key]?.card = [] }
        }
        let page = try await fixture.manager.sessions(from: [], limit: 10, now: noon)
        #expect(page.items.map(\.created) == [noon] && page.items.first?.card == nil)
    }

    @Test func `an expired record is not listed`() async throws {
        let fixture = SessionFixture()
        _ = try await fixture.signedIn()
        #expect(try await fixture.manager.sessions(from: [], limit: 10, now: noon.plus(3599)).items.count == 1)
        #expect(try await fixture.manager.sessions(from: [], limit: 10, now: noon.plus(3600)).items.isEmpty)
    }

    @Test func `a long name is cut`() async throws {
        let fixture = SessionFixture()
        var profile = Profile.ada
        profile.name = String(repeating: "a", count: 100_000)
        _ = try await fixture.manager.issue(SignIn(profile: profile), host: self.host, now: noon)
        let card = try #require(SessionCard(of: try self.record(of: fixture), by: fixture.sealer))
        #expect(card.name == String(repeating: "a", count: 200) + "...")
    }

    private static let devices: [(String, String?)] = [
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Linux"),
        (
            "Mozilla/5.0 (Windows NT 10.0; Win64) AppleWebKit/537.36 Chrome/139.0.0.0 Safari/537.36 Edg/139.0.0.0",
            "Edge on Windows"
        ),
        (
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/18.5 Safari/605.1.15",
            "Safari on macOS"
        ),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 CriOS/138.0 Safari/604.1",
            "Chrome on iPhone"
        ),
        (
            "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 Chrome/138.0.0.0 Mobile Safari/537.36",
            "Chrome on Android"
        ),
        ("curl/8.14.1", "curl"),
        ("Mozilla/5.0", nil),
        ("", nil),
        ("<script>alert(1)</script>", nil),
        (String(repeating: "a", count: 41), nil),
        (String(repeating: "a", count: 600) + " Firefox/1 Linux", nil),
    ]

    @Test(arguments: SessionCardTests.devices)
    func `a device is a browser and a system, never the text of the client`(userAgent: String, device: String?) {
        #expect(DeviceSummary.text(of: userAgent) == device)
    }
}
