// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@Suite struct PinTests {
    /// SHA-256 of `abc`, FIPS 180-2 B.1.
    private static let bytes: [UInt8] = [
        0xBA, 0x78, 0x16, 0xBF, 0x8F, 0x01, 0xCF, 0xEA, 0x41, 0x41, 0x40, 0xDE, 0x5D, 0xAE, 0x22, 0x23, 0xB0, 0x03,
        0x61, 0xA3, 0x96, 0x17, 0x7A, 0x9C, 0xB4, 0x10, 0xFF, 0x61, 0xF2, 0x00, 0x15, 0xAD,
    ]
    private static let text = "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="

    @Test func `a pin is read from the base64 of its bytes, and written so`() {
        #expect(Pin(base64: Self.text)?.bytes == Self.bytes)
        #expect(Pin(Self.bytes)?.description == Self.text)
    }

    @Test(arguments: [0, 20, 31, 33, 64])
    func `bytes are a pin only if there are 32 of them`(count: Int) {
        #expect(Pin([UInt8](repeating: 7, count: count)) == nil)
    }

    @Test(arguments: [
        "", "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0", "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0==",
        "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0=", "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa1=",
        "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa2=", "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa3=",
        " ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=", "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=\n",
        "ungWv48Bz+pBQUDeXa4i I7ADYaOWF3qctBD/YfIAFa=", "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa=0",
        "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAF\u{E9}=", "qZk+NkcGgWq6PiVxeFDCbJzQ2J0=",
    ])
    func `only the one canonical base64 is read`(text: String) {
        #expect(Pin(base64: text) == nil)
    }
}

@Suite struct PinSetTests {
    private static let day = Instant(seconds: 1_811_808_000)

    @Test(
        arguments: [
            (.enforce, .report, -1, .enforce), (.enforce, .report, 0, .report), (.enforce, .reject, -1, .enforce),
            (.enforce, .reject, 0, .refuse), (.report, .report, -1, .report), (.report, .report, 0, .report),
            (.report, .reject, -1, .report), (.report, .reject, 1, .refuse),
        ] as [(PinSet.Mode, PinSet.Expired, Int64, PinSet.Demand)]
    )
    func `a set demands what its mode requires until the instant at which it expires`(
        mode: PinSet.Mode,
        expired: PinSet.Expired,
        second: Int64,
        demand: PinSet.Demand
    ) {
        let set = PinSet(mode: mode, pins: [], expires: Self.day, expired: expired)
        #expect(set.demand(at: Self.day.advanced(by: .seconds(second))) == demand)
    }

    @Test(arguments: [(.enforce, .enforce), (.report, .report)] as [(PinSet.Mode, PinSet.Demand)])
    func `a set without an end holds for ever`(mode: PinSet.Mode, demand: PinSet.Demand) {
        #expect(PinSet(mode: mode, pins: [], expired: .reject).demand(at: Instant(seconds: .max)) == demand)
    }

    @Test func `a host has its own set or that of every other host`() {
        let own = PinSet(mode: .report, pins: [])
        let policy = PinPolicy(standard: PinSet(pins: []), hosts: ["b.example.com": own, "a.example.com": own])
        #expect(policy.set(for: "a.example.com") == own)
        #expect(policy.set(for: "c.example.com") == policy.standard)
        #expect(policy.all.map(\.host) == [nil, "a.example.com", "b.example.com"])
    }
}
