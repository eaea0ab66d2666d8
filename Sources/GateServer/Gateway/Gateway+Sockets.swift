// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
internal import GateCore
internal import GateHTTP
internal import NIOCore
internal import Synchronization

extension Gateway {
    /// The sockets that were handed over, by the address of the listener that wants each; the operations address's included.
    ///
    /// - Throws: A `Failure` for a listener without a socket and for a socket that no listener wants: serving half of what the
    ///   file says, or leaving clients in a queue that nobody empties, would both look like a gateway that works.
    func handedOver(_ plans: [ListenerPlan]) throws(Failure) -> [String: InheritedSocket] {
        guard var left = self.options.inherited else { return [:] }
        let operations = self.state.withLock { $0.configuration.gateway.operations }
        let wanted = plans.map { ($0.host, $0.port) } + [(operations.host, operations.port)]
        var sockets: [String: InheritedSocket] = [:]
        for (host, port) in wanted {
            guard let place = try? SocketAddress.makeAddressResolvingHost(host, port: port),
                let ip = place.ipAddress.flatMap({ IPAddress($0) }),
                let index = left.firstIndex(where: { $0.address == ip && $0.port == port })
            else {
                let given = left.map(\.description).joined(separator: ", ")
                throw Failure(
                    .listenerNoSocket,
                    "no socket was handed over for \(host):\(port); there is left: \(given.isEmpty ? "none" : given)"
                )
            }
            sockets["\(host):\(port)"] = left.remove(at: index)
        }
        guard left.isEmpty else {
            throw Failure(
                .listenerUnwantedSocket,
                "nothing in the file listens on \(left.map(\.description).joined(separator: ", "))"
            )
        }
        return sockets
    }
}

/// A number that only grows; shared by all threads.
final class Counted: Sendable {
    private let number = Atomic<Int>(0)

    /// How many.
    var value: Int { self.number.load(ordering: .relaxed) }

    /// One more.
    func add() { self.number.add(1, ordering: .relaxed) }
}
