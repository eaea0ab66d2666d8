// SPDX-License-Identifier: Apache-2.0

internal import GateOperations
internal import Glibc
internal import NIOCore

/// Notifies systemd of the state of the gateway: one datagram to the socket that `NOTIFY_SOCKET` names.
///
/// sd_notify(3). Without that variable nothing is sent; sending never blocks. A gateway that a service process has started sends
/// through that process, since systemd listens to it only.
struct SystemdNotifier: Sendable {
    /// The states that systemd knows.
    enum State: String, Sendable {
        case ready = "READY=1"
        case reloading = "RELOADING=1"
        case stopping = "STOPPING=1"
        case alive = "WATCHDOG=1"
    }

    /// An hour in microseconds: more often than is asked for does no harm.
    private static let maxInterval: Int64 = 3_600_000_000

    private let socket: DatagramSocket?
    private let service: ServiceLink?
    /// How often systemd is to hear that the process is alive: half of the time after which it restarts it; nil if never.
    let watchdogInterval: Duration?

    /// A notice for the manager that the environment names: by an absolute path, or `@` and an abstract name.
    init(environment: [String: String], service: ServiceLink? = nil) {
        self.service = service
        self.socket = DatagramSocket(environment["NOTIFY_SOCKET"] ?? "")
        let time = environment["WATCHDOG_USEC"].flatMap { Int64($0) } ?? 0
        let isMeant = environment["WATCHDOG_PID"].map { $0 == "\(getpid())" } ?? true
        let interval = Duration.microseconds(min(max(1, time / 2), SystemdNotifier.maxInterval))
        self.watchdogInterval = self.socket != nil && isMeant && time > 0 ? interval : nil
    }

    /// Sends a state.
    ///
    /// A reload carries the time it began, as `Type=notify-reload` requires.
    ///
    /// - Parameters:
    ///   - state: The state.
    ///   - status: A line for operators, which `systemctl status` shows; nil to leave the one before.
    func send(_ state: State, status: String? = nil) {
        guard let socket else { return }
        var text = state.rawValue
        if state == .reloading { text += "\nMONOTONIC_USEC=\(self.microseconds)" }
        if let status { text += "\nSTATUS=\(status)" }
        if let service { return service.send(text) }
        // A manager that does not listen, or does not read, gets no notice; a reload or a drain must not wait for it.
        try? socket.send([ByteBuffer(string: text)], waits: false)
    }

    /// CLOCK_MONOTONIC, as sd_notify(3) wants it.
    private var microseconds: UInt64 { NIODeadline.now().uptimeNanoseconds / 1000 }
}
