// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateAssertion
import GateCore
import GateTestSupport
import Testing

@testable import GateServer

@Suite struct GatewaySecretsTests {
    private let folder: TemporaryFolder
    private let schedule = RotationSchedule(publishAhead: .seconds(100), overlap: .seconds(1000))
    private let start = Instant(seconds: 1_800_000_000)

    init() throws {
        self.folder = try TemporaryFolder()
    }

    private func load(at seconds: Int64) throws -> GatewaySecrets {
        try GatewaySecrets.load(
            folder: self.folder.path,
            schedule: self.schedule,
            now: Instant(seconds: self.start.seconds + seconds),
            random: .system
        )
    }

    private func rotate(at seconds: Int64) throws -> Instant? {
        let now = Instant(seconds: self.start.seconds + seconds)
        return try GatewaySecrets.rotate(folder: self.folder.path, schedule: self.schedule, now: now, random: .system)
    }

    /// Sets the time of the files that have none of this test yet.
    private func date(_ names: [String], _ seconds: Int64) throws {
        for name in names {
            let date = Date(timeIntervalSince1970: TimeInterval(self.start.seconds + seconds))
            try FileManager.default.setAttributes(
                [.modificationDate: date],
                ofItemAtPath: "\(self.folder.path)/\(name)"
            )
        }
    }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: self.folder.path).sorted()
    }

    @Test func `a secret opens before it seals, and for as long as sessions last afterwards`() throws {
        let first = try self.load(at: 0)
        #expect(try self.names() == ["secret"] && self.folder.mode("secret") == 0o600)
        try self.date(["secret"], 0)
        #expect(try self.rotate(at: 500) == Instant(seconds: self.start.seconds + 600))
        let added = try #require(try self.names().last)
        try self.date([added], 500)
        #expect(try self.folder.mode(added) == 0o600)
        let pending = try self.load(at: 599).inUse
        #expect(pending.count == 2 && pending.first == first.inUse.first)
        let changed = try self.load(at: 600).inUse
        #expect(changed == [pending[1], pending[0]])
        #expect(try self.load(at: 1599).inUse == changed)
        #expect(try self.load(at: 1600).inUse == [pending[1]])
    }

    @Test func `a second secret waits until the first is used, and removes what has expired`() throws {
        _ = try self.load(at: 0)
        try self.date(["secret"], 0)
        #expect(try self.rotate(at: 500) != nil)
        let added = try #require(try self.names().last)
        try self.date([added], 500)
        #expect(try self.rotate(at: 599) == nil)
        #expect(try self.names().count == 2)
        #expect(try self.rotate(at: 1600) != nil)
        #expect(try self.names().count == 2 && !self.names().contains("secret"))
    }

    @Test func `no secret is added beyond the number that can be read, until one has expired`() throws {
        try PrivateFile.makeFolder(self.folder.path)
        for number in Int64(0)..<16 {
            let name = "secret-\(number)"
            try PrivateFile.write([UInt8](repeating: UInt8(number), count: 32), to: "\(self.folder.path)/\(name)")
            try self.date([name], number * 10)
        }
        // The oldest opens until 1110.
        for seconds in [Int64(250), 1109] {
            let failure = #expect(throws: Failure.self) { try self.rotate(at: seconds) }
            #expect(failure?.reason == .gatewaySecret && failure?.detail.contains("rotate later") == true)
            #expect(try self.names().count == 16)
        }
        #expect(try self.load(at: 1109).inUse.count == 16)
        #expect(try self.rotate(at: 1110) != nil)
        #expect(try self.names().count == 16 && !self.names().contains("secret-0"))
    }

    @Test func `a secret that is too short or that others can read is rejected with its path`() throws {
        try PrivateFile.write(Array("short".utf8), to: "\(self.folder.path)/secret-mine")
        let failure = #expect(throws: Failure.self) { try self.load(at: 0) }
        #expect(failure?.reason == .gatewaySecret && failure?.detail.contains("secret-mine") == true)
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o644],
            ofItemAtPath: "\(self.folder.path)/secret-mine"
        )
        #expect(#expect(throws: Failure.self) { try self.load(at: 0) }?.reason == .fileTooOpen)
    }
}
