// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import Glibc

/// A listening socket that whoever started the process has opened.
///
/// sd_listen_fds(3): the descriptors from 3 on, as many as `LISTEN_FDS` says, if `LISTEN_PID` is this process.
package struct InheritedSocket: Sendable, Equatable, CustomStringConvertible {
    /// The descriptor.
    package let descriptor: CInt
    /// The address that it is bound to; nil if that is no IP address.
    package let address: IPAddress?
    /// The port that it is bound to.
    package let port: Int
    /// What it was called by who opened it.
    package let name: String

    /// A socket that is known already.
    package init(descriptor: CInt, address: IPAddress?, port: Int, name: String) {
        self.descriptor = descriptor
        self.address = address
        self.port = port
        self.name = name
    }

    /// What a message says of it.
    package var description: String {
        let host = self.address.map { ClientIP($0).text }
        let shown = host.map { $0.contains(":") ? "[\($0)]:\(self.port)" : "\($0):\(self.port)" }
        let place = shown ?? "something else than an IP address"
        return "descriptor \(self.descriptor) (\(self.name)) at \(place)"
    }

    /// The sockets that the environment tells of.
    ///
    /// - Parameter environment: The variables of this process.
    /// - Returns: The sockets, closed to programs that this one may start.
    /// - Throws: A `Failure` if there are none, or one that cannot be used.
    package static func all(in environment: [String: String]) throws(Failure) -> [InheritedSocket] {
        guard let count = environment["LISTEN_FDS"].flatMap({ Int($0) }), (1...64).contains(count) else {
            throw Failure(.listenerNoSockets, "--listen-fds, but LISTEN_FDS tells of no sockets")
        }
        guard environment["LISTEN_PID"] == "\(getpid())" else {
            throw Failure(.listenerNoSockets, "--listen-fds, but LISTEN_PID is another process")
        }
        let names = environment["LISTEN_FDNAMES"]?.split(separator: ":", omittingEmptySubsequences: false) ?? []
        var sockets: [InheritedSocket] = []
        for index in 0..<count {
            let descriptor = CInt(3 + index)
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            let name = index < names.count ? String(names[index]) : "unnamed"
            guard let bound = self.address(of: descriptor) else {
                throw Failure(.listenerInherited, "descriptor \(descriptor) (\(name)) is no socket")
            }
            let (address, port) = bound
            sockets.append(InheritedSocket(descriptor: descriptor, address: address, port: port, name: name))
        }
        return sockets
    }

    /// Where a socket is bound; nil if the descriptor is none.
    private static func address(of descriptor: CInt) -> (IPAddress?, Int)? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let status = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(descriptor, $0, &length)
            }
        }
        guard status == 0 else { return nil }
        let bytes = unsafe withUnsafeBytes(of: &storage) { unsafe Array($0.prefix(Int(length))) }
        guard bytes.count >= 8 else { return (nil, 0) }
        let port = Int(bytes[2]) << 8 | Int(bytes[3])
        switch CInt(storage.ss_family) {
        case AF_INET: return (IPAddress(packed: Array(bytes[4..<8])), port)
        case AF_INET6 where bytes.count >= 24: return (IPAddress(packed: Array(bytes[8..<24])), port)
        default: return (nil, 0)
        }
    }
}
