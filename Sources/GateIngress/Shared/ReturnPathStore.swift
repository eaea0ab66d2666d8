// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GateSessions
internal import Synchronization

/// Return paths that are too long for a cookie or an address, held in memory while their users sign in.
///
/// A long path travels as a short one, `/oauth2/return?to=ID` on the same host, which leads on to the long one. The table
/// is bounded in bytes, and in entries of each client network, so that nobody can fill it for others; what was forgotten,
/// or lost at a restart, ends on a page that says so.
package final class ReturnPathStore: Sendable {
    /// Where an id leads.
    struct Place: Sendable, Equatable {
        /// The path; that of the app if what was asked for was too long even for this table.
        let path: ReturnPath
        /// Whether it is what was asked for.
        let isWhole: Bool
    }

    private struct Entry {
        let host: String
        let place: Place
        let client: ClientNetwork?
        let expires: Instant
    }

    private struct State {
        var entries: [String: Entry] = [:]
        /// The ids, oldest first; those that were forgotten early stay in it until their turn.
        var queue: [String] = []
        var first = 0
        var bytes = 0
        var counts: [ClientNetwork: Int] = [:]

        mutating func remove(_ id: String) {
            guard let entry = self.entries.removeValue(forKey: id) else { return }
            self.bytes -= ReturnPathStore.size(of: entry.place)
            guard let client = entry.client, let count = self.counts[client] else { return }
            self.counts[client] = count > 1 ? count - 1 : nil
        }

        mutating func removeOldest() {
            guard self.first < self.queue.count else { return }
            self.remove(self.queue[self.first])
            self.first += 1
            guard self.first > 1024, self.first > self.queue.count / 2 else { return }
            self.queue.removeFirst(self.first)
            self.first = 0
        }
    }

    /// The path of the endpoint that leads on.
    static let endpoint = "/oauth2/return"
    /// How long a user may take to sign in; as long as a session transfer takes beside that.
    private static let lifetime = Duration.seconds(660)
    private static let capacity = 8 << 20
    private static let perClient = 64

    private let state = Mutex(State())
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
    ///   - client: Whose it is, as far as that is known.
    ///   - now: The time.
    /// - Returns: The short path.
    func reference(to place: Place, on host: String, for client: IPAddress?, now: Instant) -> ReturnPath {
        let id = self.random.token(16)
        let client = client.map { ClientNetwork(of: $0) }
        self.state.withLock { state in
            while state.first < state.queue.count,
                state.entries[state.queue[state.first]].map({ $0.expires <= now }) ?? true
            {
                state.removeOldest()
            }
            while state.bytes > ReturnPathStore.capacity { state.removeOldest() }
            if let client {
                let count = state.counts[client, default: 0]
                // A client that has more than its share loses its own oldest one.
                if count >= ReturnPathStore.perClient,
                    let own = state.queue[state.first...].first(where: { id in
                        state.entries[id]?.client == client
                    })
                {
                    state.remove(own)
                }
                state.counts[client, default: 0] += 1
            }
            let expires = now.advanced(by: ReturnPathStore.lifetime)
            state.entries[id] = Entry(host: host, place: place, client: client, expires: expires)
            state.queue.append(id)
            state.bytes += ReturnPathStore.size(of: place)
        }
        return ReturnPath("\(ReturnPathStore.endpoint)?to=\(id)") ?? .root
    }

    /// Where an id leads on a host; nil if it is not known, or of another host.
    func place(of id: String, on host: String, now: Instant) -> Place? {
        self.state.withLock { state in
            guard let entry = state.entries[id], entry.host == host, now < entry.expires else { return nil }
            return entry.place
        }
    }

    /// Where a short path leads; nil for every path that is not one of ``reference(to:on:for:now:)``, or is forgotten.
    func place(of path: ReturnPath, on host: String, now: Instant) -> Place? {
        guard path.value.hasPrefix("\(ReturnPathStore.endpoint)?to=") else { return nil }
        return self.place(of: String(path.value.dropFirst(ReturnPathStore.endpoint.count + 4)), on: host, now: now)
    }

    /// The memory that an entry takes, about.
    private static func size(of place: Place) -> Int { place.path.value.utf8.count + 256 }
}
