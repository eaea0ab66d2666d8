// SPDX-License-Identifier: Apache-2.0

/// The limits of the path of a Unix socket.
package enum SocketPath {
    /// The number of bytes of a path in an address, without the final zero: unix(7).
    package static let maxBytes = 107
    /// The number of bytes of the file name in a longer path, of which the folder is named by its descriptor.
    package static let maxNameBytes = 80

    /// What is wrong with the length of the path of a socket that this program listens on or connects to by the folder of it,
    /// as the rest of a sentence that begins with the path; nil if nothing is.
    package static func violation(_ path: String) -> String? {
        let name = path.utf8.reversed().prefix { $0 != UInt8(ascii: "/") }.count
        guard path.utf8.count > self.maxBytes, name > self.maxNameBytes else { return nil }
        return "is too long: the path of a socket has \(self.maxBytes) bytes at most, "
            + "or the name of its file \(self.maxNameBytes)"
    }
}
