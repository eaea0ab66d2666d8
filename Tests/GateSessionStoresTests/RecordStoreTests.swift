// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateSessions
import Testing

/// The rules of ``RecordStore``, for each store and each store around another one.
@Suite struct RecordStoreTests {
    @Test(arguments: StoreKind.keepingSessions)
    func `an inserted record is found, and no other`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        try await store.records.insert(record(1))
        try await store.records.insert(record(2))
        #expect(try await store.records.record(for: record(1).key) == record(1))
        #expect(try await store.records.record(for: record(3).key) == nil)
        #expect(try await store.records.record(for: []) == nil)
        #expect(try await count(store.records) == 2)
    }

    @Test(arguments: StoreKind.keepingSessions)
    func `a key is used once`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        try await store.records.insert(record(1))
        let other = record(1, family: 9, sealed: [9])
        let failure = await #expect(throws: Failure.self) { try await store.records.insert(other) }
        #expect(failure?.kind == .overloaded)
        #expect(try await store.records.record(for: record(1).key) == record(1))
    }

    @Test(arguments: StoreKind.keepingSessions)
    func `of two sessions that spend the same id only the first is inserted`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        #expect(try await store.records.insert(record(1), spending: [7], until: noon.plus(600)))
        #expect(try await store.records.insert(record(2), spending: [7], until: noon.plus(600)) == false)
        #expect(try await store.locks.spend([7], until: noon.plus(600)) == false)
        #expect(try await store.records.record(for: record(1).key) == record(1))
        #expect(try await store.records.record(for: record(2).key) == nil)
    }

    @Test(arguments: StoreKind.keepingSessions)
    func `an entry that is read with an insertion is the one that is there`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        let entry = StoreEntry(kind: .signOut, key: record(101).key, value: [1], expires: noon.plus(60))
        let old = StoreEntry(kind: .signOut, key: record(102).key, value: [2], expires: noon.plus(-60))
        try await store.entries.put([entry, old])
        // These do not read it in the step that adds the session, before which no sign-out can come.
        let readsLater = kind == .redis || kind == .switched
        func expected(_ entry: StoreEntry?) -> StoreInsertion { readsLater ? .added : .addedReading(entry) }
        let keys: [(UInt8, [UInt8], StoreEntry?)] = [
            (1, entry.key, entry), (2, old.key, nil), (3, record(103).key, nil),
        ]
        for (number, key, found) in keys {
            let id = [number]
            let until = noon.plus(600)
            let inserted = try await store.records.insert(
                record(number),
                spending: id,
                until: until,
                reading: .signOut,
                key,
                at: noon
            )
            #expect(inserted == expected(found))
            #expect(try await store.records.record(for: record(number).key) == record(number))
            let again = try await store.records.insert(
                record(9),
                spending: id,
                until: until,
                reading: .signOut,
                key,
                at: noon
            )
            #expect(again == .spent)
            #expect(try await store.records.record(for: record(9).key) == nil)
        }
    }

    @Test(arguments: StoreKind.keepingSessions)
    func `a session that cannot be inserted spends no id`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        try await store.records.insert(record(1))
        let other = record(1, sealed: [9])
        let failure = await #expect(throws: Failure.self) {
            _ = try await store.records.insert(other, spending: [7], until: noon.plus(600))
        }
        #expect(failure?.kind == .overloaded)
        #expect(try await store.locks.spend([7], until: noon.plus(600)))
    }

    @Test(arguments: StoreKind.keepingSessions)
    func `a use is recorded for one session, and for no removed one`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        try await store.records.insert(record(1))
        try await store.records.insert(record(2))
        store.records.noteUse(record(1).key, at: noon.plus(60))
        store.records.noteUse(record(3).key, at: noon.plus(60))
        #expect(try await store.records.record(for: record(1).key)?.lastSeen == noon.plus(60))
        #expect(try await store.records.record(for: record(2).key)?.lastSeen == noon.plus(1))
        #expect(try await count(store.records) == 2)
    }

    @Test(arguments: StoreKind.keepingSessions)
    func `a removed session is not found, and removing it again does nothing`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        try await store.records.insert(record(1))
        try await store.records.insert(record(2))
        try await store.records.remove(record(1).key)
        try await store.records.remove(record(1).key)
        #expect(try await store.records.record(for: record(1).key) == nil)
        #expect(try await store.records.record(for: record(2).key) != nil)
    }

    @Test(arguments: StoreKind.keepingSessions)
    func `the sign-ins of a label have the times of their records, and only the oldest are read`(
        kind: StoreKind
    ) async throws {
        let store = try await OpenStore(kind)
        let label = [UInt8](repeating: 5, count: 32)
        for number: UInt8 in 1...6 {
            // Two records each in the families 1 to 3, of which the third is the oldest.
            var one = record(number, family: (number + 1) / 2)
            one.created = noon.plus(one.family[0] == 3 ? -60 : 100 * Int64(one.family[0]))
            one.expires = one.created.advanced(by: .seconds(1000))
            one.lastSeen = noon.plus(Int64(number))
            one.labels = [label]
            try await store.records.insert(one)
        }
        var other = record(9, family: 9)
        other.labels = [[UInt8](repeating: 6, count: 32)]
        try await store.records.insert(other)
        func found(_ limit: Int) async throws -> [UInt8: StoredSignIn] {
            let all = try await store.records.signIns(labeled: label, limit: limit)
            return Dictionary(all.map { ($0.family[0], $0) }) { first, _ in first }
        }
        let all = try await found(10)
        #expect(Set(all.keys) == [1, 2, 3])
        #expect(all[1]?.created == noon.plus(100) && all[1]?.lastSeen == noon.plus(2))
        #expect(all[3]?.created == noon.plus(-60) && all[3]?.expires == noon.plus(940))
        for signIn in all.values {
            let record = try await store.records.record(for: signIn.key)
            #expect(record?.family == signIn.family)
        }
        #expect(try await Set(found(2).keys) == [1, 3])
        try await store.records.removeFamily([UInt8](repeating: 3, count: 32))
        #expect(try await Set(found(2).keys) == [1, 2])
        #expect(try await store.records.signIns(labeled: [], limit: 10).isEmpty)
    }

    @Test(arguments: StoreKind.keepingSessions)
    func `a family is removed as a whole, others stay`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        for number: UInt8 in 1...4 {
            try await store.records.insert(record(number, family: number % 2))
        }
        try await store.records.removeFamily(record(0, family: 1).family)
        #expect(try await store.records.record(for: record(1).key) == nil)
        #expect(try await store.records.record(for: record(3).key) == nil)
        #expect(try await count(store.records) == 2)
        try await store.records.removeFamily(record(0, family: 1).family)
        #expect(try await count(store.records) == 2)
    }

    @Test(arguments: StoreKind.keepingSessions)
    func `a family is trimmed to those that were used last, others stay`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        for number in 1...6 as ClosedRange<UInt8> {
            try await store.records.insert(record(number, family: 1))
            store.records.noteUse(record(number).key, at: noon.plus(10 + Int64(number)))
        }
        try await store.records.insert(record(9, family: 9))
        store.records.noteUse(record(2).key, at: noon.plus(20))
        let family = record(1, family: 1).family
        try await store.records.trimFamily(family, to: 6, keeping: [])
        #expect(try await count(store.records) == 7)
        try await store.records.trimFamily(family, to: 3, keeping: [record(1).key])
        var live: [UInt8] = []
        for number in 1...9 as ClosedRange<UInt8> where try await store.records.record(for: record(number).key) != nil {
            live.append(number)
        }
        #expect(live == [1, 2, 6, 9])
        try await store.records.trimFamily(family, to: 1, keeping: [record(1).key, record(2).key])
        #expect(try await store.records.record(for: record(6).key) == nil)
        #expect(try await count(store.records) == 3)
        try await store.records.removeFamily(family)
        #expect(try await count(store.records) == 1)
    }

    @Test(arguments: StoreKind.keepingSessions)
    func `labels and card are part of a record`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        let full = labeled(1, family: 1, 101, 102, 103, 104)
        try await store.records.insert(full)
        #expect(try await store.records.insert(labeled(2, family: 2, 101), spending: [7], until: noon.plus(60)))
        try await store.records.insert(record(3))
        #expect(try await store.records.record(for: full.key) == full)
        #expect(try await store.records.record(for: record(2).key) == labeled(2, family: 2, 101))
        #expect(try await store.records.record(for: record(3).key) == record(3))
    }

    @Test(arguments: StoreKind.keepingSessions)
    func `families are found by each label, once, until their records end`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        try await store.records.insert(labeled(1, family: 1, 101, 102, 103, 104))
        try await store.records.insert(labeled(2, family: 1, 101))
        try await store.records.insert(labeled(3, family: 3, 101))
        try await store.records.insert(record(4, family: 4))
        #expect(try await store.records.families(labeled: label(101)) == [family(1), family(3)])
        for number: UInt8 in 102...104 {
            #expect(try await store.records.families(labeled: label(number)) == [family(1)])
        }
        #expect(try await store.records.families(labeled: label(105)) == [])
        try await store.records.removeFamily(family(1))
        #expect(try await store.records.families(labeled: label(101)) == [family(3)])
        #expect(try await store.records.families(labeled: label(104)) == [])
        try await store.records.remove(record(3).key)
        #expect(try await store.records.families(labeled: label(101)) == [])
    }

    @Test(arguments: StoreKind.keepingSessions)
    func `all families of a label are found, however many`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        for number in 0..<2100 {
            var one = labeled(1, family: 1, 101)
            one.key = Array("\(number)".utf8)
            one.family = Array("\(number)".utf8)
            try await store.records.insert(one)
        }
        #expect(try await store.records.families(labeled: label(101)).count == 2100)
    }

    @Test(arguments: StoreKind.keepingSessions)
    func `a record is replaced by the first of two gateways that read it`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        let before = labeled(1, family: 1, 101)
        try await store.records.insert(before)
        #expect(try await store.records.replace(before.key, ifSealed: before.sealed, by: [5, 0], card: [6]))
        #expect(try await store.records.replace(before.key, ifSealed: before.sealed, by: [7], card: [8]) == false)
        var after = before
        (after.sealed, after.card) = ([5, 0], [6])
        #expect(try await store.records.record(for: before.key) == after)
        #expect(try await store.records.families(labeled: label(101)) == [family(1)])
    }

    @Test(arguments: StoreKind.keepingSessions)
    func `a removed record is not replaced, and does not come back`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        for number: UInt8 in 1...2 { try await store.records.insert(record(number, family: number)) }
        try await store.records.remove(record(1).key)
        try await store.records.removeFamily(family(2))
        for number: UInt8 in 1...3 {
            let old = record(number)
            #expect(try await store.records.replace(old.key, ifSealed: old.sealed, by: [9], card: []) == false)
            #expect(try await store.records.record(for: old.key) == nil)
        }
    }

    @Test(arguments: StoreKind.keepingSessions)
    func `a change can be reported`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        try await store.records.reportChange(ofFamily: family(1))
    }

    @Test(arguments: StoreKind.keepingSessions)
    func `each record is in one page, also when others end meanwhile`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        let records = (1...25).map { (number: UInt8) in
            var one = labeled(number, family: number, 100 + number)
            one.expires = noon.plus(1000 + Int64(number / 10))
            return one
        }
        for one in records { try await store.records.insert(one) }
        store.records.noteUse(record(25).key, at: noon.plus(60))
        var found: [SessionRecord] = []
        var pages = 0
        var cursor: [UInt8]? = []
        while let from = cursor {
            let page = try await store.records.records(from: from, limit: 10)
            #expect(page.items.count <= 10)
            // The last one of the page is where the next one begins.
            if pages == 0, let last = page.items.last { try await store.records.remove(last.key) }
            found += page.items
            pages += 1
            cursor = page.next
        }
        #expect(pages == 3)
        var expected = records
        expected[24].lastSeen = noon.plus(60)
        #expect(found.count == 25 && Set(found) == Set(expected))
    }

    @Test(arguments: StoreKind.keepingSessions)
    func `a store without sessions has one empty page of them`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        let records = try await store.records.records(from: [], limit: 10)
        #expect(records.items.isEmpty && records.next == nil)
    }
}
