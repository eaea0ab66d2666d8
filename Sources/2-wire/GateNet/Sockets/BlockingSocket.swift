// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import NIOCore

/// A blocking connection, for commands that send one request.
package enum BlockingSocket {
    /// Connects to an address.
    ///
    /// - Parameters:
    ///   - address: The address.
    ///   - seconds: How long each read and write may take.
    /// - Returns: The blocking descriptor, which the caller closes.
    /// - Throws: A ``SocketError``.
    package static func connect(to address: SocketAddress, seconds: Int) throws(SocketError) -> Int32 {
        let descriptor = try SocketCalls.stream(for: address)
        do throws(SocketError) {
            try SocketError.check("fcntl") { fcntl(descriptor, F_SETFL, 0) }
            var limit = timeval(tv_sec: seconds, tv_usec: 0)
            for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
                try SocketError.check("setsockopt") {
                    unsafe setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
                }
            }
            try unsafe SocketCalls.check("connect", with: address) { unsafe Glibc.connect(descriptor, $0, $1) }
        } catch {
            Glibc.close(descriptor)
            throw error
        }
        return descriptor
    }
}
