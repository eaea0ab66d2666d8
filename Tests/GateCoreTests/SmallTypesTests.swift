// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateCore
import GateTestSupport
import Testing

@Suite struct InstantTests {
    @Test(
        arguments: [
            (0, Duration.seconds(60), 60), (100, .seconds(-60), 40), (5, .milliseconds(1999), 6),
            (.max, .seconds(1), .max),
            (.min, .seconds(-1), .min),
        ] as [(Int64, Duration, Int64)]
    )
    func `time moves by whole seconds and stops at its ends`(start: Int64, step: Duration, end: Int64) {
        #expect(Instant(seconds: start).advanced(by: step) == Instant(seconds: end))
    }

    @Test func `instants are ordered and measured`() {
        let early = Instant(seconds: 10)
        let late = Instant(seconds: 70)
        #expect(early < late)
        #expect(late.since(early) == .seconds(60))
        #expect(WallClock.fixed(late).now == late)
    }
}

@Suite struct ProfileTests {
    @Test func `only a verified address with one reading counts`() {
        var profile = Profile(provider: "google", issuer: "https://accounts.google.com", subject: "1")
        profile.email = "ada@example.com"
        #expect(profile.verifiedEmail == nil)
        profile.emailVerified = true
        #expect(profile.verifiedEmail == EmailAddress("ada@example.com"))
        profile.email = "attacker@evil.com@company.com"
        #expect(profile.verifiedEmail == nil)
        #expect(profile.user == "google:1")
    }
}

@Suite struct RandomBytesTests {
    @Test func `the system's bytes differ each time`() {
        let draws = (0..<100).map { _ in RandomBytes.system.bytes(16) }
        #expect(Set(draws).count == 100)
        #expect(draws.allSatisfy { $0.count == 16 })
        #expect(RandomBytes.system.token(32).utf8.count == 43)
    }

    @Test func `each byte of the system's is random, to the last`() {
        let draws = (0..<200).map { _ in RandomBytes.system.bytes(13) }
        #expect((0..<13).allSatisfy { position in Set(draws.map { $0[position] }).count > 50 })
        #expect((0...17).allSatisfy { RandomBytes.system.bytes($0).count == $0 })
        // On both sides of what one system call fills.
        for count in [255, 256, 257, 1000] {
            let bytes = RandomBytes.system.bytes(count)
            #expect(bytes.count == count && bytes.suffix(32).contains { $0 != 0 } && Set(bytes).count > 100)
        }
    }

    @Test func `an id begins with a letter, so that no command reads it as an option`() {
        for first in UInt8.min...UInt8.max {
            let id = RandomBytes { [first] + Array(repeating: 0xFF, count: $0 - 1) }.identifier(16)
            #expect(id.first?.isLetter == true && id.utf8.count == 22)
        }
        let draws = (0..<200).map { _ in RandomBytes.system.identifier(16) }
        #expect(Set(draws).count == draws.count)
    }
}

@Suite struct PrivateFileTests {
    private let folder: TemporaryFolder

    init() throws {
        self.folder = try TemporaryFolder()
    }

    @Test func `a file that is written, exchanged or gone is seen to be so, through links as well`() throws {
        let file = "\(self.folder.path)/a"
        let link = "\(self.folder.path)/link"
        #expect(PrivateFile.state(of: file) == nil)
        try PrivateFile.write([1], to: file)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
        let first = PrivateFile.state(of: link)
        #expect(first != nil && first == PrivateFile.state(of: file))
        try PrivateFile.write([2], to: file)
        #expect(PrivateFile.state(of: link) != first)
    }

    @Test func `a written file is the owner's alone and reads back`() throws {
        let path = "\(self.folder.path)/a/b/secret"
        try PrivateFile.makeFolder("\(self.folder.path)/a/b/")
        try PrivateFile.write([1, 2, 3], to: path)
        try PrivateFile.write([4, 5], to: path)
        #expect(try PrivateFile.read(path, limit: 2) == [4, 5])
        #expect(try self.folder.mode("a") == 0o700)
        #expect(try self.folder.mode("a/b") == 0o700)
        #expect(try self.folder.mode("a/b/secret") == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: "\(self.folder.path)/a/b") == ["secret"])
    }

    @Test func `a file over its bound is refused`() throws {
        let path = "\(self.folder.path)/secret"
        try PrivateFile.write([1, 2, 3], to: path)
        let failure = #expect(throws: Failure.self) { try PrivateFile.read(path, limit: 2) }
        #expect(failure?.detail.contains(path) == true)
    }

    @Test(arguments: [0o640, 0o604, 0o620, 0o601])
    func `a file that others may touch is refused with the remedy`(mode: Int) throws {
        let path = "\(self.folder.path)/secret"
        try PrivateFile.write([1], to: path)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        let failure = #expect(throws: Failure.self) { try PrivateFile.read(path, limit: 10) }
        #expect(failure?.reason == .fileTooOpen)
        #expect(failure?.detail.contains("chmod 600") == true)
    }

    @Test func `what is not a file is refused by name`() throws {
        for path in [self.folder.path, "\(self.folder.path)/none", "/dev/null"] {
            let failure = #expect(throws: Failure.self) { try PrivateFile.read(path, limit: 10) }
            #expect(failure?.detail.contains(path) == true)
        }
        #expect(throws: Failure.self) { try PrivateFile.write([1], to: "\(self.folder.path)/none/file") }
        try PrivateFile.write([1], to: "\(self.folder.path)/file")
        #expect(throws: Failure.self) { try PrivateFile.makeFolder("\(self.folder.path)/file") }
        #expect(throws: Failure.self) { try PrivateFile.makeFolder("\(self.folder.path)/file/below") }
    }

    @Test func `an empty file is made once and keeps what is in it`() throws {
        let path = "\(self.folder.path)/empty"
        try PrivateFile.makeEmpty(path)
        #expect(try PrivateFile.read(path, limit: 10) == [])
        try PrivateFile.write([7], to: path)
        try PrivateFile.makeEmpty(path)
        #expect(try PrivateFile.read(path, limit: 10) == [7])
    }

    @Test(arguments: [("/a/b", "/a"), ("/a/b/", "/a"), ("a", "."), ("a/b", "a"), ("/a", "/"), ("/", "/")])
    func `the folder of a path is found`(path: String, folder: String) {
        #expect(PrivateFile.folder(of: path) == folder)
    }
}
