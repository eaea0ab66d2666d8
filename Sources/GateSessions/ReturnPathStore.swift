// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import Synchronization

/// Return paths that are too long for a cookie or a URL, held in memory while their users sign in.
///
/// A long path travels as a short one, `/oauth2/return?to=ID` on the same host, which redirects to the long one. The table
/// is limited in bytes, and in entries of each client network, so that no client can fill it for others; an id that was
/// dropped, or lost at a restart, ends on a page that explains it.
package final class ReturnPathStore: Sendable {
    /// Where an id leads.
    package struct Place: Sendable, Equatable {
        /// The path; that of the app if what was asked for was too long even for this table.
        package let path: ReturnPath
        /// Whether it is what was asked for.
        package let isWhole: Bool

        /// The place at a path.
        package init(path: ReturnPath, isWhole: Bool) {
            self.path = path
            self.isWhole = isWhole
        }
    }

    /// A path that is kept.
    struct Entry {
        let host: String
        let place: Place
        let client: ClientNetwork?
        let expires: Instant
    }

    /// The entries, without the lock that guards them.
    struct Table {
        private(set) var entries: [String: Entry] = [:]
        /// The ids in the order of their insertion, those of removed entries among them until the next compaction.
        private(set) var queue: [String] = []
        private var first = 0
        private var bytes = 0
        /// The ids of each client network, oldest first; at most ``perClient``.
        private var ids: [ClientNetwork: [String]] = [:]

        /// Adds an entry and removes what expired or exceeds a limit.
        mutating func insert(_ entry: Entry, as id: String, now: Instant) {
            while self.first < self.queue.count, self.entries[self.queue[self.first]].map({ $0.expires <= now }) ?? true
            {
                self.removeOldest()
            }
            while self.bytes > ReturnPathStore.capacity { self.removeOldest() }
            self.remove(id)
            if let client = entry.client {
                // A client that has more than its share loses its own oldest entry.
                if let own = self.ids[client], own.count >= ReturnPathStore.perClient { self.remove(own[0]) }
                self.ids[client, default: []].append(id)
            }
            self.entries[id] = entry
            self.queue.append(id)
            self.bytes += ReturnPathStore.size(of: entry.place)
            self.compact()
        }

        private mutating func remove(_ id: String) {
            guard let entry = self.entries.removeValue(forKey: id) else { return }
            self.bytes -= ReturnPathStore.size(of: entry.place)
            guard let client = entry.client else { return }
            self.ids[client]?.removeAll { $0 == id }
            if self.ids[client]?.isEmpty == true { self.ids[client] = nil }
        }

        private mutating func removeOldest() {
            guard self.first < self.queue.count else { return }
            self.remove(self.queue[self.first])
            self.first += 1
        }

        /// Drops the ids of removed entries once they outnumber the others, so that an insertion takes constant time on
        /// average.
        private mutating func compact() {
            guard self.queue.count > 2 * self.entries.count + 1024 else { return }
            self.queue = self.queue[self.first...].filter { self.entries[$0] != nil }
            self.first = 0
        }
    }

    /// The path of the endpoint that redirects to the long path.
    package static let endpoint = "/oauth2/return"
    /// How long a user may take to sign in; as long as a session transfer takes beside that.
    private static let lifetime = Duration.seconds(660)
    private static let capacity = 8 << 20
    private static let perClient = 64

    private let table = Mutex(Table())
    private let random: RandomBytes

    /// An empty table.
    package init(random: RandomBytes = .system) {
        self.random = random
    }

    /// A short path on the same host that leads to a place.
    ///
    /// - Parameters:
    ///   - place: The place.
    ///   - host: The host it is on.
    ///   - client: The client IP, if it is known.
    ///   - now: The time.
    /// - Returns: The short path.
    package func reference(to place: Place, on host: String, for client: IPAddress?, now: Instant) -> ReturnPath {
        let id = self.random.token(16)
        self.keep(place, as: id, on: host, for: client, now: now)
        return ReturnPath("\(ReturnPathStore.endpoint)?to=\(id)") ?? .root
    }

    /// Keeps a place under an id that no other client knows.
    package func keep(_ place: Place, as id: String, on host: String, for client: IPAddress?, now: Instant) {
        let entry = Entry(
            host: host,
            place: place,
            client: client.map { ClientNetwork(of: $0) },
            expires: now.advanced(by: ReturnPathStore.lifetime)
        )
        self.table.withLock { $0.insert(entry, as: id, now: now) }
    }

    /// Where an id leads on a host; nil if it is not known, or of another host.
    package func place(of id: String, on host: String, now: Instant) -> Place? {
        self.table.withLock { table in
            guard let entry = table.entries[id], entry.host == host, now < entry.expires else { return nil }
            return entry.place
        }
    }

    /// Where a short path leads; nil for a path that ``reference(to:on:for:now:)`` did not return, or that was dropped.
    package func place(of path: ReturnPath, on host: String, now: Instant) -> Place? {
        guard path.value.hasPrefix("\(ReturnPathStore.endpoint)?to=") else { return nil }
        return self.place(of: String(path.value.dropFirst(ReturnPathStore.endpoint.count + 4)), on: host, now: now)
    }

    /// The memory that an entry takes, about.
    private static func size(of place: Place) -> Int { place.path.value.utf8.count + 256 }
}
