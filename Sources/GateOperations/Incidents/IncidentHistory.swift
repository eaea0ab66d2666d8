// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import Synchronization

/// The latest incidents of this process, for `gatehouse explain`.
///
/// Only failures are written to it, each of a bounded size and a bounded number of them, so it costs nothing where nothing
/// fails. Failures that any client can cause as often as it likes, such as an unknown path, replace only each other.
package final class IncidentHistory: Sendable {
    /// How many incidents are kept: one half for failures that any client can cause, one for all others.
    package static let capacity = 1000
    /// How many incidents one look-up returns.
    static let maxFound = 20

    /// The latest of one kind; once it is full, the oldest is replaced.
    private struct Ring {
        private(set) var entries: [Incident] = []
        private var next = 0

        /// Whether an entry was replaced.
        var isFull: Bool { self.entries.count == IncidentHistory.capacity / 2 }

        mutating func add(_ incident: Incident) {
            if let newest = self.places.first, incident.supersedes(self.entries[newest]) {
                self.entries[newest] = incident
                return
            }
            if self.isFull { self.entries[self.next] = incident } else { self.entries.append(incident) }
            self.next = (self.next + 1) % (IncidentHistory.capacity / 2)
        }

        /// Adds to an entry; returns whether there is one among the newest.
        mutating func complete(_ id: String, with request: IncidentRequest, among count: Int) -> Bool {
            let places = self.places.prefix(count)
            guard let place = places.first(where: { self.entries[$0].id == id }) else { return false }
            self.entries[place].add(request)
            return true
        }

        /// The places of the entries, the newest first.
        private var places: some Collection<Int> {
            let count = self.entries.count
            return (0..<count).lazy.map { [next] in (next - 1 - $0 + 2 * count) % count }
        }
    }

    private let rings = Mutex<(frequent: Ring, others: Ring)>((Ring(), Ring()))
    private let clock: WallClock

    /// An empty history.
    package init(clock: WallClock = .system) {
        self.clock = clock
    }

    /// Adds a failure.
    ///
    /// - Parameters:
    ///   - reason: The failure.
    ///   - detail: What happened, for operators.
    ///   - id: The word that the client was shown; nil for none.
    ///   - request: What is known of the request.
    package func add(_ reason: Failure.Reason, detail: String, id: String?, of request: IncidentRequest) {
        let incident = Incident(id: id, time: self.clock.now, reason, detail: detail, of: request)
        self.rings.withLock { rings in
            if IncidentHistory.isFrequent(reason, request) {
                rings.frequent.add(incident)
            } else {
                rings.others.add(incident)
            }
        }
    }

    /// Adds what another part of the gateway knows of the request of an incident, if that is still kept.
    package func complete(_ id: String, with request: IncidentRequest) {
        self.rings.withLock { rings in
            // Nearly always it is one of the newest of its kind.
            for count in [8, IncidentHistory.capacity] {
                guard !rings.frequent.complete(id, with: request, among: count) else { return }
                guard !rings.others.complete(id, with: request, among: count) else { return }
            }
        }
    }

    /// The incidents with an id, or of the request with that id, and the others of the same requests; the newest first.
    package func incidents(named id: String) -> [Incident] {
        let all = self.rings.withLock { $0.frequent.entries + $0.others.entries }
        let requests = Set(all.filter { $0.isNamed(id) }.compactMap(\.request.id))
        let found = all.filter { $0.isNamed(id) || $0.request.id.map(requests.contains) ?? false }
        return Array(found.sorted { $0.time > $1.time }.prefix(IncidentHistory.maxFound))
    }

    /// How many incidents are kept, and the time from which on all of them are; nil for all since the start.
    package var extent: (count: Int, completeSince: Instant?) {
        self.rings.withLock { rings in
            let oldest = [rings.frequent, rings.others].compactMap { $0.isFull ? $0.entries.map(\.time).min() : nil }
            return (rings.frequent.entries.count + rings.others.entries.count, oldest.max())
        }
    }

    /// Whether any client can cause the failure as often as it likes.
    private static func isFrequent(_ reason: Failure.Reason, _ request: IncidentRequest) -> Bool {
        switch reason {
        case .gatewayOverloaded, .gatewayTooManyRequests, .gatewayTooManyWaiting, .routeMaintenance: return true
        default: break
        }
        switch reason.entry.kind {
        case .malformedRequest, .signInRequired, .noSuchRoute, .methodNotAllowed, .tooLarge, .tooMany:
            return request.provider == nil
        case .forbidden, .providerFailed, .upstreamFailed, .upstreamTimedOut, .overloaded, .internalError:
            return false
        }
    }
}
