// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import GateNet
internal import Glibc

/// The connection of a gateway with sockets of systemd to the ``ServiceProcess`` that has started it.
package struct ServiceLink: Sendable {
    /// Names the descriptor of the gateway's end.
    static let variable = "GATEHOUSE_SERVICE_LINK"

    /// What both processes send each other, beside notices for systemd.
    enum Message {
        /// The gateway is to drain.
        static let drain = "drain"
        /// The gateway accepts no more and holds no socket that the next one needs.
        static let released = "released"
    }

    private let socket: PacketSocket

    /// The connection that the environment names; nil for a gateway that was started otherwise.
    package init?(environment: [String: String]) {
        guard let descriptor = environment[ServiceLink.variable].flatMap({ Int32($0) }), descriptor > 2 else {
            return nil
        }
        self.socket = PacketSocket(descriptor: descriptor)
        self.socket.closeOnExec()
    }

    /// Passes a notice for systemd on.
    func send(_ notice: String) { self.socket.send(notice) }

    /// Lets the next gateway start.
    func released() { self.socket.send(Message.released) }

    /// Calls `drain` when the service stops.
    ///
    /// If the service process ends otherwise, systemd takes the service for ended and starts another, so this process ends
    /// at once, also if its event loops hang.
    func watch(drain: @escaping @Sendable () -> Void) {
        let thread = Thread {
            var isDraining = false
            while let message = self.socket.receive() {
                guard message == Message.drain, !isDraining else { continue }
                isDraining = true
                drain()
            }
            if !isDraining { _exit(1) }
        }
        thread.name = "service link"
        thread.start()
    }
}
