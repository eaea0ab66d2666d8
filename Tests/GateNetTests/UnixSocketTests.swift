// SPDX-License-Identifier: Apache-2.0

import CEventPoll
import Foundation
import Glibc
import NIOCore
import Testing

@testable import GateNet

@Suite(.timeLimit(.minutes(1))) struct UnixSocketTests {
    /// A folder that is deleted with the last reference to it.
    private final class Folder {
        let path = FileManager.default.temporaryDirectory.appending(path: "gatehouse-\(UUID())").path

        init() throws {
            try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
        }

        deinit { try? FileManager.default.removeItem(atPath: self.path) }

        func attributes(_ name: String) throws -> [FileAttributeKey: Any] {
            try FileManager.default.attributesOfItem(atPath: "\(self.path)/\(name)")
        }
    }

    @Test(arguments: [
        "s.sock", String(repeating: "long", count: 60) + "/s.sock",
        String(repeating: "long", count: 60) + "/" + String(repeating: "s", count: 80),
    ])
    func `only the owner may connect, also to a path longer than an address`(name: String) throws {
        let folder = try Folder()
        let parent = URL(filePath: "\(folder.path)/\(name)").deletingLastPathComponent()
        try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
        let before = umask(0)
        let socket = try UnixSocket.listen(at: "\(folder.path)/\(name)")
        umask(before)
        defer { close(socket.descriptor) }
        #expect(try folder.attributes(name)[.posixPermissions] as? Int == 0o600)
        #expect(try folder.attributes(name)[.type] as? FileAttributeType == .typeSocket)
        let client = try UnixSocket.connect(to: "\(folder.path)/\(name)", seconds: 5)
        close(client)
    }

    @Test(arguments: 100...110)
    func `a path of any length around that of an address can be listened on and connected to`(length: Int) throws {
        let folder = try Folder()
        let path = "\(folder.path)/" + String(repeating: "s", count: length - folder.path.utf8.count - 1)
        let socket = try UnixSocket.listen(at: path)
        defer { close(socket.descriptor) }
        close(try UnixSocket.connect(to: path, seconds: 5))
        #expect((SocketAddress(socketPath: path) != nil) == (length <= 107))
    }

    @Test(arguments: [0o600, 0o660, 0o666, 0o777])
    func `the file has the mode that is asked for, also the bits of the umask`(mode: Int) throws {
        let folder = try Folder()
        let socket = try UnixSocket.listen(at: "\(folder.path)/s.sock", mode: UInt32(mode))
        defer { close(socket.descriptor) }
        #expect(try folder.attributes("s.sock")[.posixPermissions] as? Int == mode)
    }

    @Test func `a socket on which a process listens is not replaced`() throws {
        let folder = try Folder()
        let path = "\(folder.path)/s.sock"
        let socket = try UnixSocket.listen(at: path)
        defer { close(socket.descriptor) }
        let number = try folder.attributes("s.sock")[.systemFileNumber] as? Int
        #expect(throws: SocketError(call: "bind", code: EADDRINUSE)) { try UnixSocket.listen(at: path) }
        #expect(try folder.attributes("s.sock")[.systemFileNumber] as? Int == number)
    }

    @Test func `the user at the other end is known for Unix sockets only`() throws {
        let folder = try Folder()
        let listening = try UnixSocket.listen(at: "\(folder.path)/s.sock")
        let client = try UnixSocket.connect(to: "\(folder.path)/s.sock", seconds: 5)
        let accepted = accept_next(listening.descriptor)
        let other = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { for descriptor in [listening.descriptor, client, accepted, other] { close(descriptor) } }
        #expect(peer_user(accepted) == Int(getuid()))
        #expect(peer_user(other) == -1 && peer_user(-1) == -1)
    }

    @Test func `a socket without a process is replaced`() throws {
        let folder = try Folder()
        let path = "\(folder.path)/s.sock"
        close(try UnixSocket.listen(at: path).descriptor)
        #expect(throws: SocketError(call: "connect", code: ECONNREFUSED)) {
            try UnixSocket.connect(to: path, seconds: 5)
        }
        let socket = try UnixSocket.listen(at: path)
        defer { close(socket.descriptor) }
        close(try UnixSocket.connect(to: path, seconds: 5))
    }

    @Test func `a file, a folder or a link at the path is kept`() throws {
        let folder = try Folder()
        let target = "\(folder.path)/target"
        try Data("content".utf8).write(to: URL(filePath: target))
        try FileManager.default.createDirectory(atPath: "\(folder.path)/folder", withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(atPath: "\(folder.path)/link", withDestinationPath: target)
        for name in ["target", "folder", "link"] {
            #expect(throws: SocketError(call: "bind", code: ENOTSOCK)) {
                try UnixSocket.listen(at: "\(folder.path)/\(name)")
            }
        }
        #expect(try Data(contentsOf: URL(filePath: target)) == Data("content".utf8))
    }

    @Test func `the file is removed at the end, unless another process has replaced it`() throws {
        let folder = try Folder()
        let path = "\(folder.path)/s.sock"
        let first = try UnixSocket.listen(at: path)
        close(first.descriptor)
        // Kept, so that the file number is not used again at once.
        try FileManager.default.moveItem(atPath: path, toPath: path + ".old")
        let second = try UnixSocket.listen(at: path)
        first.removeFile()
        #expect(FileManager.default.fileExists(atPath: path))
        second.removeFile()
        #expect(!FileManager.default.fileExists(atPath: path))
        close(second.descriptor)
    }
}
