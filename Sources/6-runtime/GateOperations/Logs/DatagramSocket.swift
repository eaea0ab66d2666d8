// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
internal import GateCore
internal import Glibc
package import NIOCore

/// Sends datagrams to a Unix socket, each one whole or not at all.
package struct DatagramSocket: Sendable {
    private let path: [UInt8]

    /// A socket by its absolute path, or by `@` and an abstract name; nil for anything else.
    package init?(_ name: String) {
        var path = Array(name.utf8)
        guard (2...SocketPath.maxBytes).contains(path.count),
            path[0] == UInt8(ascii: "/") || path[0] == UInt8(ascii: "@")
        else {
            return nil
        }
        if path[0] == UInt8(ascii: "@") { path[0] = 0 }
        self.path = path
    }

    /// Sends some datagrams one after the other.
    ///
    /// - Parameters:
    ///   - datagrams: The datagrams.
    ///   - waits: Whether to wait for a reader that is slow; otherwise a full queue is an error.
    /// - Throws: The error of the first that was not sent, with the number of those before.
    package func send(_ datagrams: [ByteBuffer], waits: Bool = true) throws(WriteFailure) {
        let flags = Int32(MSG_NOSIGNAL) | (waits ? 0 : Int32(MSG_DONTWAIT))
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw WriteFailure(code: errno, written: 0) }
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: self.path) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + self.path.count)
        for (number, datagram) in datagrams.enumerated() {
            let bytes = Array(datagram.readableBytesView)
            let sent = unsafe withUnsafePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                    unsafe sendto(descriptor, bytes, bytes.count, flags, pointer, length)
                }
            }
            guard sent >= 0 else { throw WriteFailure(code: errno, written: number) }
        }
    }
}

/// The daemons that take log lines as datagrams, one for each line.
struct LogDaemon: LogOutput {
    enum Kind {
        /// What syslog(3) sends: rsyslog and journald take the rest of an RFC 5424 head on a local socket for the message.
        case syslog
        /// systemd's native protocol: fields, each on a line.
        case journald
    }

    private let kind: Kind
    private let socket: DatagramSocket

    init?(_ kind: Kind, at path: String) {
        guard let socket = DatagramSocket(path) else { return nil }
        self.kind = kind
        self.socket = socket
    }

    func write(_ lines: LogBatch) throws(WriteFailure) {
        var bytes = lines.bytes
        var datagrams: [ByteBuffer] = []
        var ends: [Int] = [0]
        for entry in lines.entries {
            guard var line = bytes.readSlice(length: Int(entry >> 3)) else { break }
            ends.append(ends[ends.count - 1] + line.readableBytes)
            line.moveWriterIndex(to: line.writerIndex - 1)
            datagrams.append(self.datagram(line, of: lines.stream, severity: entry & 7))
        }
        do throws(WriteFailure) {
            try self.socket.send(datagrams)
        } catch {
            throw WriteFailure(code: error.code, written: ends[error.written])
        }
    }

    /// The daemon is found by its name each time.
    func reopen() {}

    private func datagram(_ line: ByteBuffer, of stream: LogStream, severity: UInt32) -> ByteBuffer {
        var datagram = ByteBuffer()
        switch self.kind {
        case .syslog:
            // RFC 5424 §6.2.1: authpriv is 10, daemon 3. The line has its time, the daemon knows the host.
            let facility: UInt32 = stream == .audit || stream == .security ? 10 : 3
            datagram.writeString("<\(facility << 3 | severity)>gatehouse[\(getpid())]: ")
        case .journald:
            datagram.writeString("PRIORITY=\(severity)\nSYSLOG_IDENTIFIER=gatehouse\n")
            datagram.writeString("GATEHOUSE_STREAM=\(stream.rawValue)\nMESSAGE=")
        }
        datagram.writeImmutableBuffer(line)
        if self.kind == .journald { datagram.writeStaticString("\n") }
        return datagram
    }
}
