// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import NIOCore

/// Calls the system's resolver, which may block: never called on an event loop.
enum SystemResolver {
    /// How many addresses of a name are used.
    private static let maxAddresses = 32

    /// The addresses of a host, in the order in which they should be tried; empty if the lookup fails.
    ///
    /// RFC 6724 §6; blocks the calling thread.
    static func addresses(of host: String) -> [IPBytes] {
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(host, nil, &hints, &list) == 0 else { return [] }
        defer { unsafe freeaddrinfo(list) }
        var found: [IPBytes] = []
        var entry = unsafe list
        while let one = unsafe entry, found.count < SystemResolver.maxAddresses {
            if let bytes = unsafe SystemResolver.bytes(one.pointee), !found.contains(bytes) { found.append(bytes) }
            unsafe entry = one.pointee.ai_next
        }
        return found
    }

    private static func bytes(_ info: addrinfo) -> IPBytes? {
        guard let address = unsafe info.ai_addr else { return nil }
        let raw = UnsafeRawPointer(address)
        let length = unsafe Int(info.ai_addrlen)
        let family = unsafe info.ai_family
        if family == AF_INET, length >= MemoryLayout<sockaddr_in>.size {
            let four = unsafe raw.loadUnaligned(as: sockaddr_in.self)
            return IPBytes(unsafe withUnsafeBytes(of: four.sin_addr) { unsafe Array($0) })
        }
        guard family == AF_INET6, length >= MemoryLayout<sockaddr_in6>.size else { return nil }
        let six = unsafe raw.loadUnaligned(as: sockaddr_in6.self)
        return IPBytes(unsafe withUnsafeBytes(of: six.sin6_addr) { unsafe Array($0) })
    }
}

/// The bytes of an IP address: four or sixteen.
package struct IPBytes: Sendable, Hashable {
    /// The bytes, in network order.
    package let bytes: [UInt8]

    /// An address from its bytes.
    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The address with a port; nil unless there are four or sixteen bytes.
    func socketAddress(port: Int) -> SocketAddress? {
        try? SocketAddress(packedIPAddress: ByteBuffer(bytes: self.bytes), port: port)
    }
}
