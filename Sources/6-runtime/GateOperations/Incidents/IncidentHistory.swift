// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import Synchronization

/// The latest incidents of this process, for `gatehouse explain`.
///
/// Only failures are written to it, each of a bounded size and a bounded number of them, so it costs nothing where nothing
/// fails. Failures that clients can cause at will replace only each other, so they remove no denial of a user.
package final class IncidentHistory: Sendable {
    /// How many incidents are kept: as many of each ``Origin``.
    package static let capacity = 1200
    /// How many incidents one look-up returns.
    static let maxFound = 20

    /// Where a failure comes from, by who can cause many of them.
    private enum Origin: Int, CaseIterable {
        /// Any request: an unknown path, a missing session.
        case request
        /// A request to an endpoint of a provider, an app that is down, too much load.
        case attempt
        /// A user who is denied, a provider in a sign-in that was really begun, the gateway itself.
        case user

        static let capacity = IncidentHistory.capacity / Origin.allCases.count

        init(of reason: Failure.Reason, _ request: IncidentRequest) {
            switch reason {
            case .requestNotNavigation, .requestCrossSite, .requestCrossSiteWebSocket, .signInSignedOut,
                .providerInteractionRequired, .forwardAuthPeer, .forwardAuthApp, .forwardAuthOnly:
                self = request.provider == nil ? .request : .attempt
                return
            default: break
            }
            switch reason.entry.kind {
            case .malformedRequest, .signInRequired, .noSuchRoute, .methodNotAllowed, .tooLarge, .tooMany:
                self = request.provider == nil ? .request : .attempt
            case .overloaded, .upstreamFailed, .upstreamTimedOut: self = .attempt
            case .forbidden, .providerFailed, .internalError: self = .user
            }
        }
    }

    /// The latest of one kind; once it is full, the oldest is replaced.
    private struct Ring {
        private(set) var entries: [Incident] = []
        private var next = 0

        /// Whether an entry was replaced.
        var isFull: Bool { self.entries.count == Origin.capacity }

        mutating func add(_ incident: Incident) {
            if let newest = self.places.first, incident.supersedes(self.entries[newest]) {
                self.entries[newest] = incident
                return
            }
            if self.isFull { self.entries[self.next] = incident } else { self.entries.append(incident) }
            self.next = (self.next + 1) % Origin.capacity
        }

        /// Adds to an entry; returns whether there is one among the newest.
        mutating func complete(_ id: String, with request: IncidentRequest, among count: Int) -> Bool {
            let places = self.places.prefix(count)
            guard let place = places.first(where: { self.entries[$0].id == id }) else { return false }
            self.entries[place].add(request)
            return true
        }

        var newestFirst: [Incident] { self.places.map { self.entries[$0] } }

        /// The places of the entries, the newest first.
        private var places: some Collection<Int> {
            let count = self.entries.count
            return (0..<count).lazy.map { [next] in (next - 1 - $0 + 2 * count) % count }
        }
    }

    private let rings = Mutex<[Ring]>(Origin.allCases.map { _ in Ring() })
    private let clock: WallClock

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
        self.rings.withLock { $0[Origin(of: reason, request).rawValue].add(incident) }
    }

    /// Adds what another part of the gateway knows of the request of an incident, if that is still kept.
    package func complete(_ id: String, with request: IncidentRequest) {
        let request = request.bounded
        self.rings.withLock { rings in
            // Nearly always it is one of the newest of its kind.
            for count in [8, Origin.capacity] {
                for place in rings.indices where rings[place].complete(id, with: request, among: count) { return }
            }
        }
    }

    /// The incidents with an id, or of the request with that id, and the others of the same requests; the newest first.
    package func incidents(named id: String) -> [Incident] {
        let all = self.rings.withLock { $0.flatMap(\.entries) }
        let requests = Set(all.filter { $0.isNamed(id) }.compactMap(\.request.id))
        let found = all.filter { $0.isNamed(id) || $0.request.id.map(requests.contains) ?? false }
        return Array(found.sorted { $0.time > $1.time }.prefix(IncidentHistory.maxFound))
    }

    /// The latest denials by rules, the newest first.
    package func denials(limit: Int) -> [Incident] {
        let all = self.rings.withLock { $0[Origin.user.rawValue].newestFirst }
        return Array(all.filter(\.isDenial).prefix(limit))
    }

    /// How many incidents are kept, and the time from which on all of them are; nil for all since the start.
    package var extent: (count: Int, completeSince: Instant?) {
        self.rings.withLock { rings in
            let oldest = rings.compactMap { $0.isFull ? $0.entries.map(\.time).min() : nil }
            return (rings.reduce(0) { $0 + $1.entries.count }, oldest.max())
        }
    }
}
