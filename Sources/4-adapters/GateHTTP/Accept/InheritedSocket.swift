// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import Glibc

/// A listening socket that the parent process has opened, for socket activation.
///
/// sd_listen_fds(3): `LISTEN_FDS` descriptors from 3 on, if `LISTEN_PID` is this process.
package struct InheritedSocket: Sendable, Equatable, CustomStringConvertible {
    package let descriptor: CInt
    /// The IP address it is bound to; nil if it is bound to something else.
    package let address: IPAddress?
    /// The port it is bound to.
    package let port: Int
    /// Its name in `LISTEN_FDNAMES`.
    package let name: String

    /// A socket with known properties.
    package init(descriptor: CInt, address: IPAddress?, port: Int, name: String) {
        self.descriptor = descriptor
        self.address = address
        self.port = port
        self.name = name
    }

    /// The socket as messages show it.
    package var description: String {
        let host = self.address.map { ClientIP($0).text }
        let shown = host.map { $0.contains(":") ? "[\($0)]:\(self.port)" : "\($0):\(self.port)" }
        let place = shown ?? "not an IP address"
        return "descriptor \(self.descriptor) (\(self.name)) at \(place)"
    }

    /// The sockets that the environment variables name.
    ///
    /// - Parameters:
    ///   - environment: The variables of this process.
    ///   - process: The process that systemd has started, which is this one or its parent.
    /// - Returns: The sockets, marked close-on-exec.
    /// - Throws: A `Failure` if no socket was passed, or if one cannot be used.
    package static func all(
        in environment: [String: String],
        of process: Int32
    ) throws(Failure) -> [InheritedSocket] {
        guard let count = environment["LISTEN_FDS"].flatMap({ Int($0) }), (1...64).contains(count) else {
            throw Failure(.listenerNoSockets, "--listen-fds, but LISTEN_FDS names no sockets")
        }
        guard environment["LISTEN_PID"] == "\(process)" else {
            throw Failure(.listenerNoSockets, "--listen-fds, but LISTEN_PID is another process")
        }
        let names = environment["LISTEN_FDNAMES"]?.split(separator: ":", omittingEmptySubsequences: false) ?? []
        var sockets: [InheritedSocket] = []
        for index in 0..<count {
            let descriptor = CInt(3 + index)
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            let name = index < names.count ? String(names[index]) : "unnamed"
            guard let bound = self.address(of: descriptor) else {
                throw Failure(
                    .listenerInherited,
                    "descriptor \(descriptor) (\(name)) is not a socket"
                )
            }
            let (address, port) = bound
            sockets.append(InheritedSocket(descriptor: descriptor, address: address, port: port, name: name))
        }
        return sockets
    }

    /// The address a socket is bound to; nil if the descriptor is not a socket.
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
