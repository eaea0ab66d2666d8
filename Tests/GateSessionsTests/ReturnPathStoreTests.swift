// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateTestSupport
import Testing

@testable import GateSessions

@Suite struct ReturnPathStoreTests {
    private let long = "/cart?q=" + String(repeating: "abcdefgh", count: 1000)

    @Test func `W-06: one client cannot fill the table for others`() throws {
        let paths = ReturnPathStore(random: .seeded())
        let place = ReturnPathStore.Place(path: try #require(ReturnPath(self.long)), isWhole: true)
        let now = Instant(seconds: 1000)
        let honest = paths.reference(to: place, on: "a", for: IPAddress("192.0.2.1"), now: now)
        for _ in 0..<5000 { _ = paths.reference(to: place, on: "a", for: IPAddress("198.51.100.7"), now: now) }
        #expect(paths.place(of: honest, on: "a", now: now) == place)
        // All clients together are bounded as well: the oldest go first.
        for number in 0..<2000 {
            let client = IPAddress("203.0.\(number / 256).\(number % 256)")
            _ = paths.reference(to: place, on: "a", for: client, now: now)
        }
        #expect(paths.place(of: honest, on: "a", now: now) == nil)
    }

    @Test func `W-06: a place that is kept again under its id takes no more memory`() throws {
        let paths = ReturnPathStore(random: .seeded())
        let place = ReturnPathStore.Place(path: try #require(ReturnPath(self.long)), isWhole: true)
        let now = Instant(seconds: 1000)
        let honest = paths.reference(to: place, on: "a", for: IPAddress("192.0.2.1"), now: now)
        for _ in 0..<5000 { paths.keep(place, as: "state", on: "a", for: nil, now: now) }
        #expect(paths.place(of: honest, on: "a", now: now) == place)
        #expect(paths.place(of: "state", on: "a", now: now) == place)
    }

    @Test func `W-06: ids of dropped entries do not pile up after an entry that is still in use`() throws {
        var table = ReturnPathStore.Table()
        let place = ReturnPathStore.Place(path: try #require(ReturnPath(self.long)), isWhole: true)
        let (now, expires) = (Instant(seconds: 1000), Instant(seconds: 1660))
        let honest = ClientNetwork(of: try #require(IPAddress("192.0.2.1")))
        let flooding = ClientNetwork(of: try #require(IPAddress("198.51.100.7")))
        table.insert(.init(host: "a", place: place, client: honest, expires: expires), as: "honest", now: now)
        for number in 0..<20_000 {
            let entry = ReturnPathStore.Entry(host: "a", place: place, client: flooding, expires: expires)
            table.insert(entry, as: "\(number)", now: now)
            guard table.queue.count > 2000 else { continue }
            Issue.record("\(table.queue.count) ids after \(number) entries")
            return
        }
        #expect(table.entries.count == 65 && table.entries["honest"] != nil && table.entries["19999"] != nil)
        #expect(table.entries["19935"] == nil)
    }
}
