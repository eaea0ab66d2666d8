// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The header of the PROXY protocol, version 1 or 2, which a load balancer sends before the first byte of a connection.
///
/// https://www.haproxy.org/download/2.9/doc/proxy-protocol.txt; pure and strict: an ambiguous header is rejected.
package struct ProxyProtocolHeader: Sendable, Equatable {
    /// Why bytes are not a header.
    package enum Rejection: String, Error, Sendable {
        /// They do not begin with a signature.
        case signature
        /// The header is longer than its limit.
        case tooLong = "too_long"
        /// The version or command is unknown.
        case command
        /// The protocol is not TCP over IPv4 or IPv6.
        case family
        /// An address or port is malformed.
        case address
    }

    /// The maximum number of bytes of a header of version 1, line end included; §2.1.
    package static let maxTextBytes = 107
    /// The maximum number of bytes of a header of version 2: the fixed part and 520 bytes of addresses and extensions.
    package static let maxBinaryBytes = 536

    /// The number of bytes of the header.
    package let length: Int
    /// The client IP; nil for a connection of the load balancer itself (`LOCAL`) or of unknown origin (`UNKNOWN`).
    package let source: IPAddress?

    /// Parses the header at the start of the bytes.
    ///
    /// - Parameter bytes: All bytes received on the connection.
    /// - Returns: The header; nil if it is not complete.
    /// - Throws: Why more bytes cannot make it a header.
    package static func read(_ bytes: Span<UInt8>) throws(Rejection) -> ProxyProtocolHeader? {
        guard !bytes.isEmpty else { return nil }
        return bytes[0] == self.signature[0] ? try self.binary(bytes) : try self.text(bytes)
    }

    private static let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]
    private static let prefix = Array("PROXY ".utf8)

    /// Whether the bytes, as far as they go, begin with `start`.
    private static func begins(_ bytes: Span<UInt8>, with start: [UInt8]) -> Bool {
        (0..<min(bytes.count, start.count)).allSatisfy { bytes[$0] == start[$0] }
    }
}

// MARK: Version 1

extension ProxyProtocolHeader {
    private static func text(_ bytes: Span<UInt8>) throws(Rejection) -> ProxyProtocolHeader? {
        guard self.begins(bytes, with: self.prefix) else { throw .signature }
        let limit = min(bytes.count, self.maxTextBytes)
        guard let end = (0..<limit).first(where: { bytes[$0] == 0x0D || bytes[$0] == 0x0A }) else {
            guard bytes.count < self.maxTextBytes else { throw .tooLong }
            return nil
        }
        guard bytes[end] == 0x0D, end + 1 < self.maxTextBytes else { throw .address }
        guard end + 1 < bytes.count else { return nil }
        guard bytes[end + 1] == 0x0A, end >= self.prefix.count else { throw .address }
        let line = String(decoding: (self.prefix.count..<end).map { bytes[$0] }, as: UTF8.self)
        return ProxyProtocolHeader(length: end + 2, source: try self.source(line))
    }

    /// The client in `TCP4 192.0.2.1 192.0.2.2 56324 443`; everything after `UNKNOWN` is ignored.
    private static func source(_ line: String) throws(Rejection) -> IPAddress? {
        let words = line.split(separator: " ", omittingEmptySubsequences: false)
        guard words.first != "UNKNOWN" else { return nil }
        guard words.first == "TCP4" || words.first == "TCP6" else { throw .family }
        guard words.count == 5, self.isPort(words[3]), self.isPort(words[4]) else { throw .address }
        let isSix = words.first == "TCP6"
        guard words[1].contains(":") == isSix, words[2].contains(":") == isSix else { throw .address }
        guard let source = IPAddress(words[1]), IPAddress(words[2]) != nil else { throw .address }
        return source
    }

    private static func isPort(_ text: Substring) -> Bool {
        UInt16(text).map { String($0) == text } ?? false
    }
}

// MARK: Version 2

extension ProxyProtocolHeader {
    /// Signature, version and command, family, length: §2.2.
    private static let fixed = 16

    private static func binary(_ bytes: Span<UInt8>) throws(Rejection) -> ProxyProtocolHeader? {
        guard self.begins(bytes, with: self.signature) else { throw .signature }
        guard bytes.count >= self.fixed else { return nil }
        let length = self.fixed + Int(bytes[14]) << 8 + Int(bytes[15])
        guard length <= self.maxBinaryBytes else { throw .tooLong }
        guard bytes[12] == 0x20 || bytes[12] == 0x21 else { throw .command }
        guard let addresses = self.addressBytes(ofFamily: bytes[13]) else { throw .family }
        // Extensions follow the addresses; they are skipped.
        guard bytes[12] == 0x20 || length >= self.fixed + addresses * 2 + (addresses > 0 ? 4 : 0) else {
            throw .address
        }
        guard bytes.count >= length else { return nil }
        guard bytes[12] == 0x21, addresses > 0 else { return ProxyProtocolHeader(length: length, source: nil) }
        let source = IPAddress(packed: (self.fixed..<(self.fixed + addresses)).map { bytes[$0] })
        return ProxyProtocolHeader(length: length, source: source)
    }

    /// The length of an address of a family: 0 if it is unspecified, nil if it is not TCP over IP.
    private static func addressBytes(ofFamily family: UInt8) -> Int? {
        switch family {
        case 0x00: 0
        case 0x11: 4
        case 0x21: 16
        default: nil
        }
    }
}
