// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import NIOCore

/// System calls on sockets.
package enum SocketCalls {
    /// How many connections may wait to be accepted.
    static let backlog: Int32 = 4096

    static func setNonBlocking(_ descriptor: Int32) throws(SocketError) {
        try SocketError.check("fcntl") { fcntl(descriptor, F_SETFL, O_NONBLOCK) }
    }

    /// Opens a listening socket.
    ///
    /// - Throws: A ``SocketError`` that names the call.
    package static func listen(on address: SocketAddress) throws(SocketError) -> Int32 {
        let socket = try self.stream(for: address)
        do throws(SocketError) {
            if address.protocol != .unix { try self.set(socket, SOL_SOCKET, SO_REUSEADDR) }
            if address.protocol == .inet6 { try self.set(socket, Int32(IPPROTO_IPV6), IPV6_V6ONLY) }
            try unsafe self.check("bind", with: address) { unsafe bind(socket, $0, $1) }
            try SocketError.check("listen") { Glibc.listen(socket, SocketCalls.backlog) }
        } catch {
            Glibc.close(socket)
            throw error
        }
        return socket
    }

    /// Sends small writes immediately: TCP_NODELAY, tcp(7).
    package static func disableNagle(_ socket: Int32) {
        try? self.set(socket, Int32(IPPROTO_TCP), TCP_NODELAY)
    }

    /// Sets a numeric option.
    package static func set(_ socket: Int32, _ level: Int32, _ name: Int32, to value: Int32 = 1) throws(SocketError) {
        var value = value
        try SocketError.check("setsockopt") { unsafe setsockopt(socket, level, name, &value, 4) }
    }

    /// Makes closing a socket reset the connection: SO_LINGER with zero time, socket(7).
    static func setResetAtClose(_ socket: Int32) {
        var setting = linger(l_onoff: 1, l_linger: 0)
        _ = unsafe setsockopt(socket, SOL_SOCKET, SO_LINGER, &setting, socklen_t(MemoryLayout<linger>.size))
    }

    /// Reads and clears the pending error of a socket; 0 if there is no error.
    static func error(of socket: Int32) -> Int32 {
        var code: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        _ = unsafe getsockopt(socket, SOL_SOCKET, SO_ERROR, &code, &size)
        return code
    }

    /// The error of a socket that has nothing left to read; nil while it has bytes.
    static func failure(unlessUnread socket: Int32) -> Int32? {
        var byte: UInt8 = 0
        let count = unsafe recv(socket, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
        guard count < 1 else { return nil }
        return count == 0 ? ECONNRESET : errno
    }

    /// A non-blocking stream socket for the family of an address.
    static func stream(for address: SocketAddress) throws(SocketError) -> Int32 {
        let family: Int32 =
            switch address.protocol {
            case .inet6: AF_INET6
            case .unix: AF_UNIX
            default: AF_INET
            }
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        return try SocketError.check("socket") { socket(family, kind, 0) }
    }

    static func check(
        _ call: StaticString,
        with address: SocketAddress,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws(SocketError) {
        var failure: SocketError?
        unsafe address.withSockAddr { pointer, size in
            do throws(SocketError) {
                try SocketError.check(call) { unsafe body(pointer, socklen_t(size)) }
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
    }

    static func localAddress(of socket: Int32) -> SocketAddress? {
        unsafe self.address { unsafe getsockname(socket, $0, $1) }
    }

    static func remoteAddress(of socket: Int32) -> SocketAddress? {
        unsafe self.address { unsafe getpeername(socket, $0, $1) }
    }

    private static func address(
        _ call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> SocketAddress? {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { plain in
                guard unsafe call(plain, &size) == 0 else { return nil }
                return unsafe self.address(plain)
            }
        }
    }

    private static func address(_ plain: UnsafeMutablePointer<sockaddr>) -> SocketAddress? {
        switch Int32(unsafe plain.pointee.sa_family) {
        case AF_INET:
            return unsafe plain.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                unsafe SocketAddress($0.pointee)
            }
        case AF_INET6:
            return unsafe plain.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                unsafe SocketAddress($0.pointee)
            }
        default:
            return nil
        }
    }
}
