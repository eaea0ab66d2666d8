// SPDX-License-Identifier: Apache-2.0

/// The key of limits per client IP: an IPv4 address, or the first 64 bits of an IPv6 address.
///
/// The owner of one IPv6 address usually owns its whole /64. RFC 6177 §2.
package struct ClientNetwork: Sendable, Hashable {
    private let high: UInt64
    private let low: UInt64

    package init(of address: IPAddress) {
        self.high = ClientNetwork.number(address.bytes.prefix(8))
        self.low = address.isIPv4 ? ClientNetwork.number(address.bytes.suffix(8)) : 0
    }

    /// The same text for the same network in every process.
    package var text: String { "\(String(self.high, radix: 16))-\(String(self.low, radix: 16))" }

    private static func number(_ bytes: some Sequence<UInt8>) -> UInt64 {
        bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }
}

extension IPAddress {
    /// Creates an address from its four or sixteen bytes, most significant first.
    package init?(packed bytes: [UInt8]) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        let text =
            bytes.count == 4
            ? bytes.map { String($0) }.joined(separator: ".")
            : stride(from: 0, to: 16, by: 2)
                .map { String(UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]), radix: 16) }.joined(separator: ":")
        self.init(text)
    }
}
