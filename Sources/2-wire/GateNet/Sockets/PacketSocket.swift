// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// One end of a connection between two processes that carries short texts, each one whole; unix(7), `SOCK_SEQPACKET`.
///
/// It is open as long as the process lives.
package struct PacketSocket: Sendable {
    /// The largest text.
    private static let maxBytes = 4096

    package let descriptor: Int32

    /// The end that another process has passed.
    package init(descriptor: Int32) { self.descriptor = descriptor }

    /// A connection: an end for this process, and one that a program inherits which this process starts.
    ///
    /// - Throws: A ``SocketError`` when no descriptor is left.
    package static func pair() throws(SocketError) -> (own: PacketSocket, inherited: PacketSocket) {
        var ends: [Int32] = [-1, -1]
        try SocketError.check("socketpair") {
            unsafe socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &ends)
        }
        _ = fcntl(ends[0], F_SETFD, FD_CLOEXEC)
        return (PacketSocket(descriptor: ends[0]), PacketSocket(descriptor: ends[1]))
    }

    /// Closes this end in this process.
    package func close() { Glibc.close(self.descriptor) }

    /// Marks the end as one that no further program inherits.
    package func closeOnExec() { _ = fcntl(self.descriptor, F_SETFD, FD_CLOEXEC) }

    /// Sends a text, unless the other process has ended or does not read.
    package func send(_ text: String) {
        let bytes = Array(text.utf8)
        _ = unsafe Glibc.send(self.descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
    }

    /// Waits for the next text, which blocks the thread; nil when the other process has ended.
    package func receive() -> String? {
        var bytes = [UInt8](repeating: 0, count: PacketSocket.maxBytes)
        while true {
            let count = unsafe recv(self.descriptor, &bytes, bytes.count, 0)
            if count > 0 { return String(decoding: bytes.prefix(count), as: UTF8.self) }
            if count == 0 || errno != EINTR { return nil }
        }
    }
}
