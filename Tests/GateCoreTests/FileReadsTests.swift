// SPDX-License-Identifier: Apache-2.0

import GateCore
import Synchronization
import Testing

@Suite struct FileReadsTests {
    /// Files whose content a test changes.
    private final class Files: Sendable {
        let contents = Mutex<[String: String]>([:])

        func reads() -> FileReads {
            FileReads(
                FileAccess { path, limit in
                    guard let text = self.contents.withLock({ $0[path] }) else { return .missing }
                    return text.utf8.count > limit ? .tooLarge : .bytes(Array(text.utf8))
                }
            )
        }

        func set(_ path: String, _ text: String?) { self.contents.withLock { $0[path] = text } }
    }

    private let files = Files()

    private func name(reading paths: [String]) -> String {
        let reads = self.files.reads()
        for path in paths { _ = reads.access.read(path, limit: 100) }
        return reads.name
    }

    @Test func `B-15: content has the name of what was read, not of what the file has afterwards`() {
        self.files.set("a", "one")
        let reads = self.files.reads()
        #expect(reads.access.read("a", limit: 100) == .bytes(Array("one".utf8)))
        let name = reads.name
        self.files.set("a", "two")
        #expect(reads.name == name && reads.name(of: "a") == ContentDigest.name(of: Array("one".utf8)))
        #expect(self.name(reading: ["a"]) != name)
        self.files.set("a", "one")
        #expect(self.name(reading: ["a"]) == name)
    }

    @Test func `B-15: each file, its path, its absence and a change between two reads are in the name`() {
        self.files.set("a", "one")
        self.files.set("b", "two")
        let name = self.name(reading: ["a", "b"])
        #expect(self.name(reading: ["b", "a", "a"]) == name)
        #expect(self.name(reading: ["a"]) != name)
        self.files.set("a", "two")
        self.files.set("b", "one")
        #expect(self.name(reading: ["a", "b"]) != name)
        self.files.set("b", nil)
        let missing = self.name(reading: ["a", "b"])
        self.files.set("b", "")
        #expect(self.name(reading: ["a", "b"]) != missing)
        let reads = self.files.reads()
        _ = reads.access.read("a", limit: 100)
        let once = reads.name
        self.files.set("a", "three")
        _ = reads.access.read("a", limit: 100)
        #expect(reads.name != once)
    }
}
