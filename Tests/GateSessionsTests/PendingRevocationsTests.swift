// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateCore
import GateSessions
import GateTestSupport
import Synchronization
import Testing

/// The file of revocations that are not written, used by the stores before and after a reload or a restart.
@Suite struct PendingRevocationsTests {
    private let folder: TemporaryFolder
    private let path: String
    private static let fileBytes = 65_536

    init() throws {
        self.folder = try TemporaryFolder()
        self.path = "\(self.folder.path)/revoked"
    }

    private func family(_ number: Int) -> [UInt8] {
        [UInt8](repeating: UInt8(number % 255 + 1), count: 30) + [1, UInt8(number >> 8)]
    }

    private func inFile() throws -> [[UInt8]] {
        let bytes = try PrivateFile.read(self.path, limit: Self.fileBytes)
        return stride(from: 0, to: bytes.count, by: 32).map { Array(bytes[$0..<($0 + 32)]) }.filter { $0 != Self.free }
    }

    private static let free = [UInt8](repeating: 0, count: 32)

    @Test func `B-03: two owners of the file overwrite none of each other's families`() async throws {
        let (first, second) = (PendingRevocations(path: self.path), PendingRevocations(path: self.path))
        for (number, owner) in [(1, first), (2, second), (3, first)] {
            owner.insert(self.family(number))
            #expect(await owner.keep(self.family(number)))
        }
        #expect(PendingRevocations(path: self.path).families == Set((1...3).map(self.family)))
        await first.remove(self.family(1))
        await first.remove(self.family(3))
        #expect(first.count == 0)
        #expect(PendingRevocations(path: self.path).families == [self.family(2)])
        await second.remove(self.family(2))
        #expect(try self.inFile().isEmpty)
        #expect(try Data(contentsOf: URL(filePath: self.path)).count == Self.fileBytes)
    }

    @Test func `B-03: many owners at once lose no family`() async throws {
        let owners = (0..<4).map { _ in PendingRevocations(path: self.path) }
        await withTaskGroup(of: Void.self) { group in
            for (index, owner) in owners.enumerated() {
                group.addTask {
                    for number in (index * 10)..<(index * 10 + 10) {
                        owner.insert(self.family(number))
                        #expect(await owner.keep(self.family(number)))
                        if number.isMultiple(of: 2) { await owner.remove(self.family(number)) }
                    }
                }
            }
        }
        let odd = (0..<40).filter { !$0.isMultiple(of: 2) }.map(self.family)
        #expect(try self.inFile().count == 20)
        #expect(PendingRevocations(path: self.path).families == Set(odd))
    }

    @Test func `B-03: what another owner has written is in force here, and is removed here too`() async throws {
        let (before, after) = (PendingRevocations(path: self.path), PendingRevocations(path: self.path))
        before.insert(self.family(1))
        #expect(await before.keep(self.family(1)))
        #expect(!after.contains(self.family(1)))
        await after.adopt()
        #expect(after.contains(self.family(1)))
        let removed = Mutex<[[UInt8]]>([])
        await withCheckedContinuation { continuation in
            after.start(
                every: .seconds(60),
                attempt: { family in
                    removed.withLock { $0.append(family) }
                    return .removed
                },
                written: { continuation.resume() }
            )
        }
        #expect(removed.withLock { $0 } == [self.family(1)])
        #expect(after.count == 0)
        #expect(try self.inFile().isEmpty)
        await after.stop()
    }

    @Test func `B-03: an owner that ends leaves what it could not remove to the next one`() async throws {
        // A folder in the place of the file, so that nothing can be kept at first.
        try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
        let owner = PendingRevocations(path: self.path)
        let attempts = Mutex(0)
        owner.start(
            every: .seconds(60),
            attempt: { _ in
                attempts.withLock { $0 += 1 }
                return .rejected
            },
            written: {}
        )
        for number in 1...2 {
            owner.insert(self.family(number))
            #expect(await !owner.keep(self.family(number)))
        }
        try FileManager.default.removeItem(atPath: self.path)
        let before = attempts.withLock { $0 }
        await owner.stop()
        #expect(attempts.withLock { $0 } >= before + 2)
        #expect(PendingRevocations(path: self.path).families == [self.family(1), self.family(2)])
    }

    @Test func `B-03: a store that does not respond is asked once in each round`() async throws {
        let owner = PendingRevocations(path: self.path)
        for number in 1...5 { owner.insert(self.family(number)) }
        let attempts = Mutex(0)
        owner.start(
            every: .seconds(60),
            attempt: { _ in
                attempts.withLock { $0 += 1 }
                return .unavailable
            },
            written: {}
        )
        await owner.stop()
        #expect(attempts.withLock { $0 } == 1)
        #expect(owner.count == 5)
    }

    @Test func `the file takes 2048 families, and the others are in memory only`() async throws {
        let owner = PendingRevocations(path: self.path)
        var bytes: [UInt8] = []
        for number in 0..<2047 { bytes += self.family(number) }
        try PrivateFile.write(bytes + Self.free, to: self.path)
        for (number, isKept) in [(3000, true), (3001, false), (3000, true)] {
            owner.insert(self.family(number))
            #expect(await owner.keep(self.family(number)) == isKept, "\(number)")
        }
        #expect(owner.contains(self.family(3001)))
        await owner.remove(self.family(3000))
        #expect(await owner.keep(self.family(3001)))
        #expect(try self.inFile().count == 2048)
        #expect(await !owner.keep([1, 2, 3]))
    }

    @Test(arguments: [0, 31, 32, 40 * 32 + 5, 65_536, 65_536 + 64])
    func `a file of another length is used as far as it goes`(length: Int) async throws {
        var bytes: [UInt8] = []
        for number in 0..<3000 { bytes += self.family(number % 30) }
        try PrivateFile.write(Array(bytes.prefix(length)), to: self.path)
        let owner = PendingRevocations(path: self.path)
        #expect(owner.families.isSuperset(of: (0..<min(length / 32, 30)).map(self.family)))
        owner.insert(self.family(999))
        #expect(await owner.keep(self.family(999)) == (length < Self.fileBytes))
    }

    @Test func `a file that others may read is made private, and its families are in force`() async throws {
        try PrivateFile.write(self.family(1), to: self.path)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: self.path)
        #expect(PendingRevocations(path: self.path).families == [self.family(1)])
        #expect(try self.folder.mode("revoked") == 0o600)
    }
}
