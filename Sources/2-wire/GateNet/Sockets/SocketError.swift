// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A system call that failed.
package struct SocketError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The name of the call.
    package let call: String
    /// The error number, errno(3).
    package let code: Int32

    /// The system's text for the error, and the call.
    package var description: String {
        "\(unsafe strerror(self.code).map { unsafe String(cString: $0) } ?? "error \(self.code)") (\(self.call))"
    }

    /// Makes a system call, and repeats it while signals interrupt it.
    ///
    /// - Throws: The error, when the call returns less than 0.
    @discardableResult
    static func check<Value: SignedInteger>(
        _ call: StaticString,
        _ body: () -> Value
    ) throws(SocketError) -> Value {
        while true {
            let result = body()
            guard result < 0 else { return result }
            let code = errno
            guard code == EINTR else { throw SocketError(call: "\(call)", code: code) }
        }
    }
}
