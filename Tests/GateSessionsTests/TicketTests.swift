// SPDX-License-Identifier: Apache-2.0

import Crypto
import GateCore
import Testing

@testable import GateSessions

@Suite struct TicketTests {
    private let ticket: Ticket

    init() throws {
        let issued = SessionFixture().manager.signed([UInt8](repeating: 0xA5, count: 32), host: "gate.example.com")
        self.ticket = issued
    }

    @Test func `a ticket is 56 characters and parses to itself`() {
        #expect(self.ticket.text.utf8.count == 56)
        #expect(Ticket(self.ticket.text.utf8) == self.ticket)
    }

    @Test(arguments: [
        "", "a", String(repeating: "A", count: 42), String(repeating: "A", count: 44),
        String(repeating: "A", count: 55), String(repeating: "A", count: 57), String(repeating: "A", count: 55) + "=",
        String(repeating: "A", count: 42) + "=", String(repeating: "A", count: 42) + "B",
        String(repeating: "A", count: 42) + "+", "\"" + String(repeating: "A", count: 42),
        " " + String(repeating: "A", count: 42),
    ])
    func `only the canonical spelling of 32 bytes is a ticket`(text: String) {
        #expect(Ticket(text.utf8) == nil)
    }

    @Test func `X-17: a ticket that this gateway did not issue is rejected without a look-up`() async throws {
        let fixture = SessionFixture()
        let issued = try await fixture.signedIn()
        let host = "gate.example.com"
        #expect(fixture.manager.ticket(issued.ticket.text.utf8, host: host) == issued.ticket)
        #expect(fixture.manager.ticket(issued.ticket.text.utf8, host: "wiki.example.com") == nil)
        let text = Array(issued.ticket.text.utf8)
        for position in text.indices {
            var forged = text
            forged[position] = text[position] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(fixture.manager.ticket(forged, host: host) == nil, "\(position)")
        }
        let stranger = fixture.manager(secrets: [Secret([UInt8](repeating: 9, count: 32))])
        #expect(stranger.ticket(text, host: host) == nil)
    }

    @Test func `X-17: a ticket remains valid when the secret is rotated`() async throws {
        let fixture = SessionFixture()
        let issued = try await fixture.signedIn()
        let rotated = fixture.manager(secrets: [Secret([UInt8](repeating: 9, count: 32)), gateSecret])
        #expect(rotated.ticket(issued.ticket.text.utf8, host: "gate.example.com") == issued.ticket)
    }

    @Test func `X-17: a ticket without a tag is rejected`() async throws {
        let fixture = SessionFixture()
        let issued = try await fixture.signedIn()
        let bare = Base64URL.encode(issued.ticket.bytes)
        #expect(bare.utf8.count == 43 && fixture.manager.ticket(bare.utf8, host: "gate.example.com") == nil)
    }

    @Test func `the store key is a hash with its own purpose`() {
        let bytes = [UInt8](repeating: 0xA5, count: 32)
        #expect(self.ticket.storeKey == Array(SHA256.hash(data: Array("gatehouse/session/key/".utf8) + bytes)))
        #expect(self.ticket.storeKey != Array(SHA256.hash(data: bytes)))
    }

    @Test func `a ticket is never printed`() {
        var dumped = ""
        dump(self.ticket, to: &dumped)
        for shown in ["\(self.ticket)", String(reflecting: self.ticket), dumped] {
            #expect(!shown.contains("165") && !shown.contains(self.ticket.text))
        }
    }
}
