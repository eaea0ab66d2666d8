// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing

@testable import GateServer

@Suite struct FileWatchTests {
    private final class Folder {
        let path = NSTemporaryDirectory() + "watch-\(UInt64.random(in: 0 ... .max))"
        init() throws { try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(atPath: self.path) }
        func write(_ name: String, _ text: String) throws -> String {
            let file = "\(self.path)/\(name)"
            try Data(text.utf8).write(to: URL(fileURLWithPath: file), options: .atomic)
            return file
        }
    }

    @Test func `a change is read once it has kept still from one look to the next`() throws {
        let folder = try Folder()
        let file = try folder.write("a", "1")
        let read = FileStates(of: [file])
        var watch = FileWatch()
        func look(read: FileStates, now: FileStates) -> Bool { watch.isTime(read: read, now: now) }
        #expect(look(read: read, now: read.now) == false)
        _ = try folder.write("a", "22")
        #expect(look(read: read, now: read.now) == false)
        _ = try folder.write("a", "333")
        #expect(look(read: read, now: read.now) == false)
        #expect(look(read: read, now: read.now) == true)
    }

    /// How many looks it takes until files that keep still are read.
    private static func looks(read: FileStates, doubtful: FileStates? = nil) -> Int {
        var watch = FileWatch()
        let now = read.now
        return (1...100).first { _ in watch.isTime(read: read, now: now, doubtful: doubtful) } ?? 0
    }

    // The first look sees the change, the others are half a second apart.
    @Test func `B-14: a file that is written in place is read after three seconds, a replaced one after half a second`()
        throws
    {
        let folder = try Folder()
        let files = [try folder.write("a", "1"), try folder.write("b", "1")]
        let read = FileStates(of: files)
        _ = try folder.write("b", "22")
        #expect(Self.looks(read: read) == 2)
        try Data("333".utf8).write(to: URL(fileURLWithPath: files[0]))
        #expect(Self.looks(read: read) == 7)
        #expect(Self.looks(read: read.now, doubtful: read.now) == 0)
        #expect(Self.looks(read: read, doubtful: read.now) == 21)
        #expect(Self.looks(read: read, doubtful: read) == 7)
    }

    @Test func `B-14: a file that is made while the others stay may still be written`() throws {
        let folder = try Folder()
        let files = [try folder.write("a", "1"), "\(folder.path)/b"]
        let read = FileStates(of: files)
        _ = try folder.write("b", "1")
        #expect(Self.looks(read: read) == 7)
    }

    @Test func `B-14: a file of the set that is still written keeps the others from being read`() throws {
        let folder = try Folder()
        let files = [try folder.write("a", "1"), try folder.write("b", "1")]
        let read = FileStates(of: files)
        var watch = FileWatch()
        _ = try folder.write("a", "22")
        for length in 2..<40 {
            try Data(repeating: 0x31, count: length).write(to: URL(fileURLWithPath: files[1]))
            let now = read.now
            for _ in 0..<6 {
                let isTime = watch.isTime(read: read, now: now)
                #expect(!isTime)
            }
        }
        let now = read.now
        let isTime = watch.isTime(read: read, now: now)
        #expect(isTime)
    }

    @Test func `files that were reloaded by a signal are not reloaded again`() throws {
        let folder = try Folder()
        let file = try folder.write("a", "1")
        var read = FileStates(of: [file])
        var watch = FileWatch()
        func look(read: FileStates, now: FileStates) -> Bool { watch.isTime(read: read, now: now) }
        _ = try folder.write("a", "22")
        #expect(look(read: read, now: read.now) == false)
        read = read.now.extended(to: [file], readSince: Date())
        for _ in 0..<3 { #expect(look(read: read, now: read.now) == false) }
    }

    @Test func `a change while the files are read is read afterwards`() throws {
        let folder = try Folder()
        let file = try folder.write("a", "1")
        let before = FileStates(of: [file])
        _ = try folder.write("a", "22")
        let read = before.extended(to: [file], readSince: Date(timeIntervalSinceNow: -60))
        var watch = FileWatch()
        func look(read: FileStates, now: FileStates) -> Bool { watch.isTime(read: read, now: now) }
        #expect(look(read: read, now: read.now) == false)
        #expect(look(read: read, now: read.now) == true)
    }

    @Test func `a file that is new to the configuration is read again only if it may have changed meanwhile`() throws {
        let folder = try Folder()
        let file = try folder.write("a", "1")
        let before = FileStates(of: [file])
        let began = Date(timeIntervalSinceNow: 60)
        let old = try folder.write("b", "1")
        let known = before.extended(to: [file, old], readSince: began)
        #expect(known == known.now)
        let doubtful = before.extended(to: [file, old], readSince: Date(timeIntervalSinceNow: -60))
        #expect(doubtful != doubtful.now)
    }

    @Test func `a file that goes away and one that comes are changes`() throws {
        let folder = try Folder()
        let file = try folder.write("a", "1")
        let there = FileStates(of: [file])
        try FileManager.default.removeItem(atPath: file)
        let gone = there.now
        #expect(gone != there)
        _ = try folder.write("a", "1")
        #expect(gone.now != gone)
    }

    @Test func `however often a reload is asked for, one waits, and asking again once it has begun asks for another`() {
        let asked = Mutex(0)
        let queue = ReloadQueue { asked.withLock { $0 += 1 } }
        for _ in 0..<100 { queue.request() }
        #expect(asked.withLock { $0 } == 1)
        queue.begin()
        for _ in 0..<100 { queue.request() }
        #expect(asked.withLock { $0 } == 2)
    }
}
