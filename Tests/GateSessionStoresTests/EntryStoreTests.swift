// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateSessions
import Testing

/// The rules of ``EntryStore``; a store that keeps no sessions keeps users only.
@Suite struct EntryStoreTests {
    @Test(arguments: StoreKind.allCases)
    func `entries are read together by their keys, without others and expired ones`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        try await store.entries.put([entry(1), entry(2), entry(3)])
        let keys = [3, 9, 1].map { label($0) }
        let found = try await store.entries.entries(.user, under: keys, at: noon)
        #expect(Set(found) == [entry(1), entry(3)])
        #expect(try await store.entries.entries(.user, under: [], at: noon) == [])
        #expect(try await store.entries.entries(.user, under: keys, at: noon.plus(600)) == [])
    }

    @Test(arguments: StoreKind.keepingSessions)
    func `an entry is found by its kind and key until it expires`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        try await store.entries.put([entry(1)])
        var other = entry(1, .notBefore)
        other.value = [UInt8](repeating: 200, count: 65_536)
        try await store.entries.put([other])
        #expect(try await store.entries.entry(.user, label(1), at: noon) == entry(1))
        #expect(try await store.entries.entry(.notBefore, label(1), at: noon) == other)
        #expect(try await store.entries.entry(.user, label(2), at: noon) == nil)
        #expect(try await store.entries.entry(.user, label(1), at: noon.plus(599)) == entry(1))
        #expect(try await store.entries.entry(.user, label(1), at: noon.plus(600)) == nil)
    }

    @Test(arguments: StoreKind.allCases)
    func `entries that are put together are all there, and replace earlier ones`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        try await store.entries.put([entry(2)])
        let entries = (UInt8(1)...3).map { number in
            var entry = entry(number)
            entry.value = [number, number]
            return entry
        }
        try await store.entries.put(entries)
        #expect(Set(try await store.entries.entries(.user, from: [], limit: 10, at: noon).items) == Set(entries))
    }

    @Test(arguments: StoreKind.allCases)
    func `an entry is replaced, and may last longer or less long`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        for seconds: Int64 in [600, 900, 300] {
            var entry = entry(1)
            (entry.value, entry.expires) = ([UInt8(seconds / 100)], noon.plus(seconds))
            try await store.entries.put([entry])
            #expect(try await store.entries.entry(.user, entry.key, at: noon.plus(seconds - 1)) == entry)
            #expect(try await store.entries.entry(.user, entry.key, at: noon.plus(seconds)) == nil)
        }
        #expect(try await store.entries.entries(.user, from: [], limit: 10, at: noon).items.count == 1)
    }

    @Test(arguments: StoreKind.keepingSessions)
    func `an entry is replaced by the first of two gateways that read it`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        var changed = entry(1)
        (changed.value, changed.expires) = ([9], noon.plus(900))
        #expect(try await store.entries.replace(changed, by: entry(1), at: noon) == false, "no entry exists")
        #expect(try await store.entries.entry(.user, changed.key, at: noon) == nil)
        #expect(try await store.entries.replace(nil, by: entry(1), at: noon))
        #expect(try await store.entries.replace(nil, by: changed, at: noon) == false)
        #expect(try await store.entries.replace(entry(1), by: changed, at: noon))
        #expect(try await store.entries.replace(entry(1), by: entry(1), at: noon) == false)
        #expect(try await store.entries.entry(.user, changed.key, at: noon.plus(899)) == changed)
        // One that has expired does not count, even where it still exists.
        #expect(try await store.entries.replace(nil, by: entry(1), at: noon.plus(899)) == false)
        var later = entry(1)
        later.expires = noon.plus(1800)
        #expect(try await store.entries.replace(nil, by: later, at: noon.plus(900)))
        #expect(try await store.entries.entries(.user, from: [], limit: 10, at: noon).items == [later])
    }

    @Test(arguments: StoreKind.keepingSessions)
    func `an entry without an end stays until it is replaced by one that has ended`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        let later = noon.plus(100 * 366 * 86_400)
        let keys = (UInt8(1)...3).map { label($0) }
        let entries = keys.map { StoreEntry(kind: .account, key: $0, value: [$0[0]], expires: StoreEntry.never) }
        for entry in entries { #expect(try await store.entries.replace(nil, by: entry, at: noon)) }
        var other = entries[0]
        other.value = [9]
        #expect(try await store.entries.replace(nil, by: other, at: later) == false)
        _ = try await store.maintenance.removeExpired(at: later, idle: .seconds(1))
        #expect(Set(try await store.entries.entries(.account, from: [], limit: 10, at: later).items) == Set(entries))
        let pages = try await store.entries.entries(.account, from: [], limit: 2, at: later)
        let rest = try await store.entries.entries(.account, from: try #require(pages.next), limit: 2, at: later)
        #expect(pages.items.count == 2 && rest.items.count == 1 && rest.next == nil)
        var changed = entries[1]
        changed.value = [8]
        #expect(try await store.entries.replace(entries[1], by: changed, at: noon))
        let removed = StoreEntry(kind: .account, key: keys[0], value: [], expires: noon)
        #expect(try await store.entries.replace(entries[1], by: removed, at: noon) == false)
        #expect(try await store.entries.replace(entries[0], by: removed, at: noon))
        #expect(try await store.entries.entry(.account, keys[0], at: noon) == nil)
        let left = Set(try await store.entries.entries(.account, from: [], limit: 10, at: later).items)
        #expect(left == [changed, entries[2]])
        #expect(try await store.entries.replace(nil, by: entries[0], at: noon), "the key is free again")
        #expect(try await store.entries.entries(.account, from: [], limit: 10, at: later).items.count == 3)
    }

    @Test(arguments: StoreKind.keepingSessions)
    func `of fifty concurrent replacements of an entry one succeeds`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        for current in [nil, entry(1)] {
            let written = try await withThrowingTaskGroup(of: StoreEntry?.self) { group in
                for number: UInt8 in 0..<50 {
                    var new = entry(1)
                    new.value = [number, current == nil ? 1 : 2]
                    let entry = new
                    group.addTask { try await store.entries.replace(current, by: entry, at: noon) ? entry : nil }
                }
                return try await group.reduce(into: [StoreEntry]()) { if let entry = $1 { $0.append(entry) } }
            }
            #expect(written.count == 1)
            #expect(try await store.entries.entry(.user, label(1), at: noon) == written.first)
            try await store.entries.put([entry(1)])
        }
    }

    @Test(arguments: StoreKind.keepingSessions)
    func `each live entry of a kind is in one page`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        for number: UInt8 in 1...25 { try await store.entries.put([entry(number)]) }
        try await store.entries.put([entry(100, .notBefore)])
        var over = entry(26)
        over.expires = noon.plus(1)
        try await store.entries.put([over])
        var found: [StoreEntry] = []
        var cursor: [UInt8]? = []
        while let from = cursor {
            let page = try await store.entries.entries(.user, from: from, limit: 10, at: noon.plus(1))
            #expect(page.items.count <= 10)
            found += page.items
            cursor = page.next
        }
        #expect(found.count == 25 && Set(found) == Set((1...25).map { entry($0) }))
    }

    @Test(arguments: StoreKind.allCases)
    func `a store without entries has one empty page of them`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        let entries = try await store.entries.entries(.user, from: [], limit: 10, at: noon)
        #expect(entries.items.isEmpty && entries.next == nil)
    }
}
