// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import GateCore
internal import NIOCore

// The system's resolver, which may block: never called on an event loop.
extension DNSCache {
    /// How many addresses of a name are used.
    private static let maxAddresses = 32

    /// The addresses of a host, in the order in which they should be tried; empty if the lookup fails.
    ///
    /// RFC 6724 §6; blocks the calling thread.
    static func resolved(_ host: String) -> [IPAddress] {
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(host, nil, &hints, &list) == 0 else { return [] }
        defer { unsafe freeaddrinfo(list) }
        var found: [IPAddress] = []
        var entry = unsafe list
        while let one = unsafe entry, found.count < self.maxAddresses {
            if let address = unsafe self.address(one.pointee), !found.contains(address) { found.append(address) }
            unsafe entry = one.pointee.ai_next
        }
        return found
    }

    private static func address(_ info: addrinfo) -> IPAddress? {
        guard let address = unsafe info.ai_addr else { return nil }
        let raw = UnsafeRawPointer(address)
        let length = unsafe Int(info.ai_addrlen)
        let family = unsafe info.ai_family
        if family == AF_INET, length >= MemoryLayout<sockaddr_in>.size {
            let four = unsafe raw.loadUnaligned(as: sockaddr_in.self)
            return IPAddress(packed: unsafe withUnsafeBytes(of: four.sin_addr) { unsafe Array($0) })
        }
        guard family == AF_INET6, length >= MemoryLayout<sockaddr_in6>.size else { return nil }
        let six = unsafe raw.loadUnaligned(as: sockaddr_in6.self)
        return IPAddress(packed: unsafe withUnsafeBytes(of: six.sin6_addr) { unsafe Array($0) })
    }
}

extension IPAddress {
    func socketAddress(port: Int) -> SocketAddress? {
        let bytes = self.isIPv4 ? self.bytes.suffix(4) : self.bytes[...]
        return try? SocketAddress(packedIPAddress: ByteBuffer(bytes: bytes), port: port)
    }
}
