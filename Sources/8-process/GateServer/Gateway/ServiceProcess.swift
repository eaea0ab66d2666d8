// SPDX-License-Identifier: Apache-2.0

internal import Foundation
package import GateCore
internal import GateNet
internal import GateOperations
internal import Glibc
internal import NIOCore
internal import UnixSignals

/// The process that systemd starts and watches where the sockets are its own; it runs the gateway as its child.
///
/// systemd starts the next process of a service when the main one has ended. This one ends as soon as the gateway accepts
/// no more, so that the next gateway accepts while this one drains, which takes as long as its last WebSocket.
package enum ServiceProcess {
    private enum Event: Sendable {
        case signal(UnixSignal)
        case message(String)
        case ended(status: Int32)
    }

    /// Runs the same command in a child process until that ends or drains.
    ///
    /// - Parameters:
    ///   - environment: The environment of this process.
    ///   - trap: The trapped signals, which go to the child.
    /// - Returns: The exit code.
    /// - Throws: A `Failure` if the child cannot be started.
    package static func run(environment: [String: String], trap: SignalTrap) async throws(Failure) -> Int32 {
        let (link, id) = try self.start(environment)
        let (events, source) = AsyncStream.makeStream(of: Event.self)
        let signals = Task {
            for await signal in trap.signals { source.yield(.signal(signal)) }
        }
        defer { signals.cancel() }
        Thread.detachNewThread {
            while let message = link.receive() { source.yield(.message(message)) }
            source.yield(.ended(status: self.status(of: id)))
        }
        let systemd = DatagramSocket(environment["NOTIFY_SOCKET"] ?? "")
        var (isDraining, isReleased) = (false, false)
        for await event in events {
            switch event {
            case .signal(.sighup): kill(id, SIGHUP)
            case .signal(.sigterm) where !isDraining:
                // The gateway began to drain by itself, so it will not report it again.
                if isReleased { return 0 }
                isDraining = true
                link.send(ServiceLink.Message.drain)
            case .signal: kill(id, SIGINT)
            case .message(ServiceLink.Message.released):
                if isDraining { return 0 }
                isReleased = true
            case .message(let notice): try? systemd?.send([ByteBuffer(string: notice)], waits: false)
            case .ended(let status): return status
            }
        }
        return 1
    }

    private static func start(_ environment: [String: String]) throws(Failure) -> (link: PacketSocket, id: pid_t) {
        let (own, inherited): (PacketSocket, PacketSocket)
        do throws(SocketError) {
            (own, inherited) = try PacketSocket.pair()
        } catch {
            throw Failure(.gatewayProcess, "\(error)")
        }
        defer { inherited.close() }
        var variables = environment
        variables[ServiceLink.variable] = "\(inherited.descriptor)"
        // It names this process, which passes the notices of the child on.
        variables["WATCHDOG_PID"] = nil
        switch self.spawn(CommandLine.arguments, variables.map { "\($0)=\($1)" }) {
        case .success(let id): return (own, id)
        case .failure(let error):
            own.close()
            throw Failure(.gatewayProcess, "\(error)")
        }
    }
}
