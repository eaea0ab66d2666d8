// SPDX-License-Identifier: Apache-2.0

import GateFixtures
import Testing

@testable import GateIngress

@Suite struct HeldMessagesTests {
    private static let mebibyte = 1 << 20

    /// An event loop; a class, since an expectation cannot change a value.
    private final class Loop {
        private var held = HeldMessages()

        func take(_ count: Int, of family: [UInt8], bodyLimit: Int = mebibyte) -> Bool {
            self.held.take(count, of: family, bodyLimit: bodyLimit)
        }

        func release(_ count: Int, of family: [UInt8]) { self.held.release(count, of: family) }
    }

    @Test func `one sign-in may have eight mebibytes`() {
        let held = Loop()
        for _ in 0..<8 { #expect(held.take(Self.mebibyte, of: [1])) }
        #expect(!held.take(1, of: [1]))
        #expect(held.take(1, of: [2]))
        held.release(Self.mebibyte, of: [1])
        #expect(held.take(Self.mebibyte, of: [1]))
    }

    @Test func `all together may have 64 mebibytes`() {
        let held = Loop()
        for family in UInt8(0)..<8 { #expect(held.take(8 * Self.mebibyte, of: [family])) }
        #expect(!held.take(1, of: [99]))
        held.release(8 * Self.mebibyte, of: [0])
        #expect(held.take(1, of: [99]))
    }

    @Test func `an app with larger bodies holds two of a sign-in`() {
        let held = Loop()
        let limit = 16 * Self.mebibyte
        for _ in 0..<2 { #expect(held.take(limit, of: [1], bodyLimit: limit)) }
        #expect(!held.take(1, of: [1], bodyLimit: limit))
    }
}
