// SPDX-License-Identifier: Apache-2.0

/// An IP address as 16 bytes; IPv4 is held in its IPv6-mapped form.
///
/// RFC 4291 §2.5.5.2.
package struct IPAddress: Sendable, Hashable {
    /// The sixteen bytes, most significant first.
    package let bytes: [UInt8]
    /// The same as one number.
    fileprivate let number: UInt128

    /// Reads a dotted IPv4 or a colon IPv6 address, without brackets, zone or leading zeros; nil for anything else.
    package init?(_ text: some StringProtocol) {
        guard text.utf8.count <= 45, let bytes = IPAddress.parse(Array(text.utf8)) else { return nil }
        self.bytes = bytes
        self.number = bytes.reduce(0) { $0 << 8 | UInt128($1) }
    }

    fileprivate init(_ number: UInt128) {
        self.bytes = (0..<16).map { UInt8(truncatingIfNeeded: number >> (120 - 8 * $0)) }
        self.number = number
    }

    /// Whether it is an IPv4 address.
    package var isIPv4: Bool { self.bytes.starts(with: IPAddress.mappedPrefix) }

    /// The address as text: four decimal numbers, or eight hexadecimal groups without compression.
    package var text: String {
        guard !self.isIPv4 else { return self.bytes.suffix(4).map(String.init).joined(separator: ".") }
        let groups = stride(from: 0, to: 16, by: 2).map { Int(self.bytes[$0]) << 8 | Int(self.bytes[$0 + 1]) }
        return groups.map { String($0, radix: 16) }.joined(separator: ":")
    }

    private static let mappedPrefix: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]

    private static func parse(_ text: [UInt8]) -> [UInt8]? {
        guard text.contains(UInt8(ascii: ":")) else { return self.fourBytes(text).map { self.mappedPrefix + $0 } }
        let halves = String(decoding: text, as: UTF8.self).split(separator: "::", omittingEmptySubsequences: false)
        guard halves.count <= 2, let head = self.groups(halves[0], isLast: halves.count == 1) else { return nil }
        guard halves.count == 2 else { return head.count == 16 ? head : nil }
        guard let tail = self.groups(halves[1], isLast: true), head.count + tail.count <= 14 else { return nil }
        return head + [UInt8](repeating: 0, count: 16 - head.count - tail.count) + tail
    }

    /// The bytes of groups of four digits; only the last ones of an address may be dotted.
    ///
    /// RFC 4291 §2.2.
    private static func groups(_ text: Substring, isLast: Bool) -> [UInt8]? {
        guard !text.isEmpty else { return [] }
        var bytes: [UInt8] = []
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            if part.contains("."), isLast, index == parts.count - 1, let four = self.fourBytes(Array(part.utf8)) {
                bytes += four
                continue
            }
            let digits = part.utf8.allSatisfy { PercentEncoding.value(of: $0) != nil }
            guard digits, (1...4).contains(part.utf8.count), let group = UInt16(part, radix: 16) else { return nil }
            bytes += [UInt8(group >> 8), UInt8(group & 0xFF)]
        }
        return bytes
    }

    /// Four numbers without leading zeros.
    private static func fourBytes(_ text: [UInt8]) -> [UInt8]? {
        let parts = text.split(separator: UInt8(ascii: "."), maxSplits: 4, omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var bytes: [UInt8] = []
        for part in parts {
            let digits = part.allSatisfy { (0x30...0x39).contains($0) }
            guard digits, (1...3).contains(part.count), part.count == 1 || part.first != 0x30,
                let byte = UInt8(exactly: part.reduce(0) { $0 * 10 + Int($1 - 0x30) })
            else { return nil }
            bytes.append(byte)
        }
        return bytes
    }
}

/// A network such as `10.0.0.0/8`, or a single address.
///
/// RFC 4632 §3.1.
package struct CIDRRange: Sendable, Hashable {
    private let first: IPAddress
    private let prefixBits: Int
    private let mask: UInt128

    /// The networks that are not reachable from the internet: loopback, private use, link-local, shared.
    ///
    /// RFC 1918, RFC 3927, RFC 4193, RFC 4291, RFC 6598.
    package static let internalNetworks = [
        "127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10", "::1",
        "fc00::/7", "fe80::/10",
    ].compactMap { CIDRRange($0) }

    /// Reads `address` or `address/bits`; nil if it is invalid or has bits set after the prefix.
    package init?(_ text: String) {
        let sides = text.split(separator: "/", omittingEmptySubsequences: false)
        guard sides.count <= 2, let first = IPAddress(sides[0]) else { return nil }
        let width = first.isIPv4 ? 32 : 128
        let bits = sides.count == 2 ? Int(sides[1]) : width
        guard let bits, (0...width).contains(bits), sides.count == 1 || sides[1] == String(bits) else { return nil }
        self.first = first
        self.prefixBits = 128 - width + bits
        self.mask = self.prefixBits == 0 ? 0 : UInt128.max << UInt128(128 - self.prefixBits)
        guard first.number & ~self.mask == 0 else { return nil }
    }

    /// Whether it is a network of IPv4 addresses.
    package var isIPv4: Bool { self.first.isIPv4 && self.prefixBits >= 96 }

    /// The length of the prefix, 0 for the network of all addresses.
    package var prefix: Int { self.isIPv4 ? self.prefixBits - 96 : self.prefixBits }

    /// Some addresses in it: the first, one in the middle and the last.
    package var addresses: [IPAddress] {
        let last = self.first.number | ~self.mask
        let middle = self.first.number | (~self.mask >> 1 &+ 1) & ~self.mask
        return [self.first, IPAddress(middle), IPAddress(last)]
    }

    /// Whether the address lies in the network.
    package func contains(_ address: IPAddress) -> Bool {
        address.number & self.mask == self.first.number
    }

    /// Whether all addresses of another network lie in this one.
    package func includes(_ other: CIDRRange) -> Bool {
        self.prefixBits <= other.prefixBits && self.contains(other.first)
    }
}
