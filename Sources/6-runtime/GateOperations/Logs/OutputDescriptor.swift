// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import Glibc
package import NIOCore

/// Why bytes could not be written.
package struct WriteFailure: Error, Sendable, Hashable {
    /// The error number of write(2).
    package let code: Int32
    /// How many bytes were written before.
    package let written: Int

    /// Whether the reader of a pipe has closed it, which is how `| head -1` ends a program.
    package var isClosedPipe: Bool { self.code == EPIPE }

    /// The words of the C library for the error.
    package var reason: String { unsafe String(cString: strerror(self.code)) }
}

/// Standard output or standard error, on which every write may fail.
///
/// A closed pipe, a full disk and a size limit are errors of the one write. They end the process neither by a trap, as
/// `FileHandle.write` does, nor by a signal, once ``ignoreSignals()`` was called.
package struct OutputDescriptor: Sendable {
    package static let standardOutput = OutputDescriptor(1)
    package static let standardError = OutputDescriptor(2)

    private let descriptor: Int32

    /// An open descriptor, which stays its owner's.
    package init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// Opens the end of a file, which is created if it does not exist: the owner writes, the group may read.
    package static func appending(to path: String) throws(Failure) -> OutputDescriptor {
        // Not blocking, since opening a named pipe would wait for its reader.
        let flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY
        let descriptor = unsafe open(path, flags, 0o640)
        guard descriptor >= 0 else {
            let reason = WriteFailure(code: errno, written: 0).reason
            throw Failure(.fileUnusable, "the log file \(path) cannot be opened: \(reason)")
        }
        return OutputDescriptor(descriptor)
    }

    /// Closes the descriptor, which nothing uses any more.
    package func close() { _ = Glibc.close(self.descriptor) }

    /// Writes all of a text, and waits as long as the reader needs for that.
    package func write(_ text: String) throws(WriteFailure) {
        try self.write(ByteBuffer(string: text))
    }

    /// Writes all of some bytes, and waits as long as the reader needs for that.
    package func write(_ bytes: ByteBuffer) throws(WriteFailure) {
        var written = 0
        while written < bytes.readableBytes {
            let count = unsafe bytes.withUnsafeReadableBytes { buffer in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[written...])
                return unsafe Glibc.write(self.descriptor, rest.baseAddress, rest.count)
            }
            if count > 0 {
                written += count
            } else {
                try self.waitOrThrow(count == 0 ? EIO : errno, written: written)
            }
        }
    }

    /// A descriptor that does not block, which its owner may share with other programs, is waited for.
    private func waitOrThrow(_ code: Int32, written: Int) throws(WriteFailure) {
        switch code {
        case EINTR: break
        case EAGAIN:
            var entry = pollfd(fd: self.descriptor, events: Int16(POLLOUT), revents: 0)
            _ = unsafe poll(&entry, 1, -1)
        default: throw WriteFailure(code: code, written: written)
        }
    }

    /// Makes a write to a closed pipe, or beyond the size that a file may have, an error of that write: signal(7).
    package static func ignoreSignals() {
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
    }

    /// Opens `/dev/null` as standard input, output and error where the process was started without them.
    ///
    /// Else the next file or connection that is opened would get the number, and with it what is written to the log.
    package static func openMissing() {
        for descriptor in Int32(0)...2 where fcntl(descriptor, F_GETFD) < 0 {
            _ = unsafe open("/dev/null", O_RDWR)
        }
    }
}

extension OutputDescriptor: LogOutput {
    package func write(_ lines: LogBatch) throws(WriteFailure) { try self.write(lines.bytes) }

    /// Standard output and standard error stay what they are.
    package func reopen() {}
}
