// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import NIOCore

/// Which of the sockets that systemd passes belongs to which listener.
struct SocketAssignment {
    private var sockets: [BindAddress: InheritedSocket] = [:]

    /// Assigns each socket to the listener with its address.
    ///
    /// - Parameters:
    ///   - inherited: The sockets; nil if listeners open their own.
    ///   - wanted: The addresses of all listeners, that of the operations listener included.
    /// - Throws: A `Failure` for a listener without a socket and for a socket without a listener: both would look like a
    ///   gateway that works.
    init(_ inherited: [InheritedSocket]?, to wanted: [BindAddress]) throws(Failure) {
        guard var left = inherited else { return }
        for address in wanted {
            guard let socket = try? SocketAddress.makeAddressResolvingHost(address.host, port: address.port),
                let ip = socket.ipAddress.flatMap({ IPAddress($0) }),
                let index = left.firstIndex(where: { $0.address == ip && $0.port == address.port })
            else {
                let given = left.map(\.description).joined(separator: ", ")
                throw Failure(
                    .listenerNoSocket,
                    "no socket was passed for \(address); there is left: \(given.isEmpty ? "none" : given)"
                )
            }
            self.sockets[address] = left.remove(at: index)
        }
        guard left.isEmpty else {
            throw Failure(
                .listenerUnwantedSocket,
                "nothing in the file listens on \(left.map(\.description).joined(separator: ", "))"
            )
        }
    }

    /// The socket of a listener; nil if it opens its own.
    subscript(address: BindAddress) -> InheritedSocket? { self.sockets[address] }
}
