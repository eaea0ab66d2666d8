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
    }

    private let path: [UInt8]?

    /// A notice for the manager that the environment names: by an absolute path, or `@` and an abstract name.
    init(environment: [String: String]) {
        let name = Array((environment["NOTIFY_SOCKET"] ?? "").utf8)
        let isUsable = (2...107).contains(name.count) && (name[0] == UInt8(ascii: "/") || name[0] == UInt8(ascii: "@"))
        self.path = isUsable ? name : nil
    }

    /// Sends a state.
    ///
    /// A reload carries the time it began, as `Type=notify-reload` requires.
    func send(_ state: State) {
        guard var path else { return }
        if path[0] == UInt8(ascii: "@") { path[0] = 0 }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + path.count)
        let text = Array(
            (state == .reloading ? "\(state.rawValue)\nMONOTONIC_USEC=\(self.microseconds)" : state.rawValue).utf8
        )
        _ = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe sendto(descriptor, text, text.count, Int32(MSG_NOSIGNAL), pointer, length)
            }
        }
    }

    /// CLOCK_MONOTONIC, as sd_notify(3) wants it.
    private var microseconds: UInt64 { NIODeadline.now().uptimeNanoseconds / 1000 }
}
