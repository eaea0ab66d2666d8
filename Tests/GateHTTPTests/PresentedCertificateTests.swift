// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

@testable import GateHTTP

@Suite struct PresentedCertificateTests {
    /// The bytes that are kept of certificates of these sizes.
    private static func kept(_ sizes: [Int]) -> Int {
        let presented = PresentedCertificate(sizes.map { [UInt8](repeating: 0x30, count: $0) })
        return presented.state.withLock { $0.chain.reduce(0) { $0 + $1.count } }
    }

    @Test func `a chain that is never accepted is not kept for the life of the connection`() {
        #expect(Self.kept([16 * 1024]) == 16 * 1024)
        #expect(Self.kept([16 * 1024 + 1]) == 0)
        #expect(Self.kept([Int](repeating: 16 * 1024, count: 4)) == 64 * 1024)
        #expect(Self.kept([16 * 1024, 16 * 1024, 16 * 1024, 16 * 1024, 1]) == 0)
        #expect(Self.kept([Int](repeating: 100, count: 8)) == 800)
        #expect(Self.kept([Int](repeating: 100, count: 9)) == 0)
    }
}
