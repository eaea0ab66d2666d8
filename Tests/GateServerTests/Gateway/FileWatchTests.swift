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
