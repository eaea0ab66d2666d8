// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProxy
import Testing

@Suite struct VerifiedChainTests {
    private func pin(_ byte: UInt8) throws -> Pin { try #require(Pin([UInt8](repeating: byte, count: 32))) }

    @Test(arguments: [
        (PinSet.Match.publicKey, UInt8(1), true), (.publicKey, 2, false), (.publicKey, 3, false),
        (.publicKey, 9, false),
        (.certificate, 9, true), (.certificate, 1, false), (.chain, 1, true), (.chain, 2, true), (.chain, 3, true),
        (.chain, 9, false), (.chain, 4, false),
    ])
    func `each match mode compares its own part of the chain`(
        match: PinSet.Match,
        byte: UInt8,
        isFound: Bool
    ) throws {
        let chain = VerifiedChain(
            publicKeys: [try self.pin(1), try self.pin(2), try self.pin(3)],
            certificate: try self.pin(9)
        )
        #expect(chain.matches(PinSet(match: match, pins: [try self.pin(200), try self.pin(byte)])) == isFound)
    }

    @Test(arguments: PinSet.Match.allCases)
    func `without a chain or a pin nothing matches`(match: PinSet.Match) throws {
        let empty = VerifiedChain(publicKeys: [], certificate: nil)
        #expect(!empty.matches(PinSet(match: match, pins: [try self.pin(1)])))
        let chain = VerifiedChain(publicKeys: [try self.pin(1)], certificate: try self.pin(1))
        #expect(!chain.matches(PinSet(match: match, pins: [])))
    }
}
