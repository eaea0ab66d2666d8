// SPDX-License-Identifier: Apache-2.0

internal import CEventPoll
internal import Glibc
package import NIOCore

/// A Unix socket at a path, which only its owner can connect to, unless its mode allows it to others.
///
/// A path may be longer than the 107 bytes of an address: the folder is opened and named by its descriptor. The name of
/// the file alone must be shorter.
package struct UnixSocket: Sendable {
    /// The listening descriptor.
    package let descriptor: Int32
    private let path: String
    private let device: UInt
    private let number: UInt

    /// Listens at a path.
    ///
    /// A socket on which no process listens is replaced; anything else at the path is an error. The caller locks the folder
    /// meanwhile, so that two processes cannot replace each other's socket.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - mode: The permissions of the file, whatever the umask is; connect needs write permission.
    /// - Returns: The socket, listening.
    /// - Throws: A ``SocketError``; `EADDRINUSE` if a process listens there, `ENOTSOCK` if it is not a socket.
    package static func listen(at path: String, mode: UInt32 = 0o600) throws(SocketError) -> UnixSocket {
        let place = try Place(path)
        defer { place.close() }
        var status = stat()
        if unsafe fstatat(place.folder, place.name, &status, AT_SYMLINK_NOFOLLOW) == 0 {
            guard status.st_mode & S_IFMT == S_IFSOCK else { throw SocketError(call: "bind", code: ENOTSOCK) }
            guard self.isStale(place) else { throw SocketError(call: "bind", code: EADDRINUSE) }
            try SocketError.check("unlink") { unsafe unlinkat(place.folder, place.name, 0) }
        }
        let descriptor = try SocketCalls.stream(for: place.address)
        do throws(SocketError) {
            // The file takes the mode of the descriptor, without the bits of the umask, so at no time it has more.
            try SocketError.check("fchmod") { fchmod(descriptor, mode & 0o600) }
            try unsafe SocketCalls.check("bind", with: place.address) { unsafe Glibc.bind(descriptor, $0, $1) }
            try SocketError.check("listen") { Glibc.listen(descriptor, SocketCalls.backlog) }
            if mode & ~0o600 != 0 {
                try SocketError.check("fchmodat") {
                    unsafe fchmodat(place.folder, place.name, mode, AT_SYMLINK_NOFOLLOW)
                }
            }
            try SocketError.check("stat") { unsafe fstatat(place.folder, place.name, &status, AT_SYMLINK_NOFOLLOW) }
        } catch {
            Glibc.close(descriptor)
            throw error
        }
        return UnixSocket(descriptor: descriptor, path: path, device: status.st_dev, number: status.st_ino)
    }

    /// Removes the file, unless another process has replaced it.
    package func removeFile() {
        var status = stat()
        guard unsafe lstat(self.path, &status) == 0, status.st_dev == self.device, status.st_ino == self.number else {
            return
        }
        _ = unsafe unlink(self.path)
    }

    /// Connects to the process that listens at a path.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - seconds: How long each read and write may take.
    /// - Returns: The blocking descriptor, which the caller closes.
    /// - Throws: A ``SocketError``: `ENOENT` without a file, `ECONNREFUSED` without a process, `EACCES` for other users.
    package static func connect(to path: String, seconds: Int) throws(SocketError) -> Int32 {
        let place = try Place(path)
        defer { place.close() }
        return try BlockingSocket.connect(to: place.address, seconds: seconds)
    }

    /// Whether no process listens on the socket at a place.
    private static func isStale(_ place: Place) -> Bool {
        guard let descriptor = try? SocketCalls.stream(for: place.address) else { return false }
        defer { Glibc.close(descriptor) }
        do throws(SocketError) {
            try unsafe SocketCalls.check("connect", with: place.address) { unsafe Glibc.connect(descriptor, $0, $1) }
            return false
        } catch {
            return error.code == ECONNREFUSED
        }
    }

    /// The open folder of a path, and the address of the path by it.
    private struct Place {
        let folder: Int32
        let name: String
        let address: SocketAddress

        init(_ path: String) throws(SocketError) {
            let slash = path.lastIndex(of: "/")
            let parent = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
            let name = slash.map { String(path[path.index(after: $0)...]) } ?? path
            let flags = O_DIRECTORY | O_CLOEXEC | open_path_only
            let folder = try SocketError.check("open") { unsafe open(parent, flags) }
            let isShort = path.utf8.count <= SocketAddress.maxPathBytes
            guard let address = SocketAddress(socketPath: isShort ? path : "/proc/self/fd/\(folder)/\(name)") else {
                Glibc.close(folder)
                throw SocketError(call: "bind", code: ENAMETOOLONG)
            }
            self.address = address
            self.folder = folder
            self.name = name
        }

        func close() { Glibc.close(self.folder) }
    }
}

extension SocketAddress {
    /// The number of bytes of a path in an address, without the final zero: unix(7).
    fileprivate static let maxPathBytes = 107

    /// The address of a Unix socket; nil if the path is too long for it.
    ///
    /// NIO's own takes 103 bytes, as other systems do.
    package init?(socketPath path: String) {
        guard path.utf8.count <= SocketAddress.maxPathBytes, !path.utf8.contains(0) else { return nil }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
        self.init(address)
    }
}

extension SocketChannel {
    /// The user id of the process at the other end of a Unix socket when it connected; nil if the kernel reports none, as for
    /// other sockets.
    ///
    /// SO_PEERCRED, unix(7).
    package var peerUser: UInt32? {
        let user = peer_user(self.descriptor)
        return user < 0 ? nil : UInt32(user)
    }
}
