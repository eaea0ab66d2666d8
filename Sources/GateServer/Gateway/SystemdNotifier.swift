// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NIOCore

/// Notifies systemd of the state of the gateway: one datagram to the socket that `NOTIFY_SOCKET` names.
///
/// sd_notify(3). Without that variable nothing is sent; sending never blocks.
struct SystemdNotifier: Sendable {
    /// The states that systemd knows.
    enum State: String, Sendable {
        case ready = "READY=1"
        case reloading = "RELOADING=1"
        case stopping = "STOPPING=1"
        case alive = "WATCHDOG=1"
    }

    private let path: [UInt8]?
    /// How often systemd is to hear that the process is alive: half of the time after which it restarts it; nil if never.
    let watchdogInterval: Duration?

    /// A notice for the manager that the environment names: by an absolute path, or `@` and an abstract name.
    init(environment: [String: String]) {
        let name = Array((environment["NOTIFY_SOCKET"] ?? "").utf8)
        let isUsable = (2...107).contains(name.count) && (name[0] == UInt8(ascii: "/") || name[0] == UInt8(ascii: "@"))
        self.path = isUsable ? name : nil
        let time = environment["WATCHDOG_USEC"].flatMap { Int64($0) } ?? 0
        let isMeant = environment["WATCHDOG_PID"].map { $0 == "\(getpid())" } ?? true
        self.watchdogInterval = isUsable && isMeant && time > 0 ? .microseconds(max(1, time / 2)) : nil
    }

    /// Sends a state.
    ///
    /// A reload carries the time it began, as `Type=notify-reload` requires.
    ///
    /// - Parameters:
    ///   - state: The state.
    ///   - status: A line for operators, which `systemctl status` shows; nil to leave the one before.
    func send(_ state: State, status: String? = nil) {
        var text = state.rawValue
        if state == .reloading { text += "\nMONOTONIC_USEC=\(self.microseconds)" }
        if let status { text += "\nSTATUS=\(status)" }
        self.send(text)
    }

    private func send(_ text: String) {
        guard var path else { return }
        if path[0] == UInt8(ascii: "@") { path[0] = 0 }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + path.count)
        let text = Array(text.utf8)
        _ = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe sendto(descriptor, text, text.count, Int32(MSG_NOSIGNAL), pointer, length)
            }
        }
    }

    /// CLOCK_MONOTONIC, as sd_notify(3) wants it.
    private var microseconds: UInt64 { NIODeadline.now().uptimeNanoseconds / 1000 }
}
