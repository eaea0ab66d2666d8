// SPDX-License-Identifier: Apache-2.0

import Crypto
import GateCore
import GateSessions
import Testing

@Suite struct TicketTests {
    private let ticket = Ticket(from: RandomBytes { [UInt8](repeating: 0xA5, count: $0) })

    @Test func `a ticket is 43 characters and reads back as itself`() {
        #expect(self.ticket.text.utf8.count == 43)
        #expect(Ticket(self.ticket.text.utf8) == self.ticket)
    }

    @Test(arguments: [
        "", "a", String(repeating: "A", count: 42), String(repeating: "A", count: 44),
        String(repeating: "A", count: 42) + "=", String(repeating: "A", count: 42) + "B",
        String(repeating: "A", count: 42) + "+", "\"" + String(repeating: "A", count: 42),
        " " + String(repeating: "A", count: 42),
    ])
    func `only the one spelling of 32 bytes is a ticket`(text: String) {
        #expect(Ticket(text.utf8) == nil)
    }

    @Test func `the store key is a hash that is set apart from other uses`() {
        let bytes = [UInt8](repeating: 0xA5, count: 32)
        #expect(self.ticket.storeKey == Array(SHA256.hash(data: Array("gatehouse/session/key/".utf8) + bytes)))
        #expect(self.ticket.storeKey != Array(SHA256.hash(data: bytes)))
    }

    @Test func `a ticket cannot be printed`() {
        var dumped = ""
        dump(self.ticket, to: &dumped)
        for shown in ["\(self.ticket)", String(reflecting: self.ticket), dumped] {
            #expect(!shown.contains("165") && !shown.contains(self.ticket.text))
        }
    }
}
