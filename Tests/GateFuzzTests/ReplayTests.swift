// SPDX-License-Identifier: Apache-2.0

import GateFuzz
import GateTestSupport
import Testing

@Suite struct ReplayTests {
    @Test(arguments: FuzzTarget.allCases) func `every kept fuzzing input passes`(target: FuzzTarget) throws {
        let inputs = try Corpus.inputs(for: target)
        #expect(inputs.count > 3)
        for input in inputs {
            let violation = target.violation(in: input)
            #expect(violation == nil, "\(target.rawValue) \(input)")
        }
    }

    @Test func `B-05: what is read from a store passes with any byte or digit of a kept input changed`() throws {
        var numbers = SeededNumbers(state: 7)
        for input in try Corpus.inputs(for: .stored) {
            for _ in 0..<200 {
                var changed = input
                for _ in 0...Int(numbers.next() % 3) {
                    let place = Int(numbers.next() % UInt64(changed.count))
                    let isDigit = (0x30...0x39).contains(changed[place])
                    let byte = UInt8(truncatingIfNeeded: numbers.next())
                    switch numbers.next() % 4 {
                    case 0: changed[place] = byte
                    case 1: changed.insert(isDigit ? 0x39 : byte, at: place)
                    case 2 where changed.count > 2: changed.remove(at: place)
                    default: changed[place] = isDigit ? 0x30 + byte % 10 : changed[place] ^ 1
                    }
                }
                let violation = FuzzTarget.stored.violation(in: changed)
                #expect(violation == nil, "\(changed)")
            }
        }
    }

    @Test func `what proxies write about certificates passes with any byte of a kept input changed`() throws {
        var numbers = SeededNumbers(state: 11)
        for input in try Corpus.inputs(for: .certificate) {
            for _ in 0..<100 {
                var changed = input
                for _ in 0...Int(numbers.next() % 3) {
                    let place = Int(numbers.next() % UInt64(changed.count))
                    let byte = UInt8(truncatingIfNeeded: numbers.next())
                    switch numbers.next() % 3 {
                    case 0: changed[place] = byte
                    case 1: changed.insert(byte, at: place)
                    default: changed[place] ^= 1 << (byte & 7)
                    }
                }
                let violation = FuzzTarget.certificate.violation(in: changed)
                #expect(violation == nil, "\(changed)")
            }
        }
    }
}
