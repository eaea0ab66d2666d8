// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateSessions

/// Which sessions an operator wants to see or to revoke; every condition must hold.
struct SessionFilter: Sendable {
    /// The ids of sessions; empty for any.
    var ids: Set<String> = []
    /// The user key.
    var user: String?
    /// The name of the provider.
    var provider: String?
    /// Where the cookie is.
    var place: Place?
    /// Before which the user signed in.
    var before: Instant?

    /// Where a cookie is.
    enum Place: Sendable {
        case host(String)
        case app(String, OriginSet)

        func contains(_ host: String) -> Bool {
            switch self {
            case .host(let name): name == host
            case .app(_, let origins): origins.contains(host)
            }
        }
    }

    /// The maximum number of ids.
    static let maxIDs = 100

    /// Whether it selects sessions by anything but time.
    var isOfAllUsers: Bool { self.ids.isEmpty && self.user == nil && self.provider == nil && self.place == nil }

    /// Whether it selects all sessions of a user, or those from before a time.
    var isOfOneUser: Bool { self.ids.isEmpty && self.user != nil && self.provider == nil && self.place == nil }

    /// Whether it selects a session; one without a card has no known user and host.
    func selects(_ session: ListedSession) -> Bool {
        if let before = self.before, session.created >= before { return false }
        guard !self.isOfAllUsers else { return true }
        guard let card = session.card else { return false }
        guard self.ids.isEmpty || self.ids.contains(card.id) else { return false }
        return self.user ?? card.user == card.user && self.provider ?? card.provider == card.provider
            && self.place?.contains(card.host) ?? true
    }

    /// The conditions in one line, for the log.
    var text: String {
        var parts = self.ids.sorted().map { "id=\($0)" }
        if let user { parts.append("user=\(user)") }
        if let provider { parts.append("provider=\(provider)") }
        switch self.place {
        case .host(let name): parts.append("host=\(name)")
        case .app(let name, _): parts.append("app=\(name)")
        case nil: break
        }
        if let before { parts.append("before=\(before)") }
        return parts.isEmpty ? "all" : parts.joined(separator: " ")
    }
}
