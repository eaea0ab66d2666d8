// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
internal import GateCore
internal import GatePolicy
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
        case app(AppHosts)

        func contains(_ host: String) -> Bool {
            switch self {
            case .host(let name): name == host
            case .app(let hosts): hosts.contains(host)
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

    /// All conditions in lines of at most 1000 characters, for the log; a longer condition is continued on the next line.
    var lines: [String] {
        var lines = [""]
        for condition in self.conditions {
            var rest = PrintableText.escaped(condition, limit: .max)[...]
            if let line = lines.last, !line.isEmpty, line.count + 1 + rest.count <= SessionFilter.maxLine {
                lines[lines.count - 1] = "\(line) \(rest)"
                continue
            }
            while !rest.isEmpty {
                lines.append(String(rest.prefix(SessionFilter.maxLine)))
                rest = rest.dropFirst(SessionFilter.maxLine)
            }
        }
        return Array(lines.dropFirst())
    }

    private static let maxLine = 1000

    /// What is selected, one condition each.
    private var conditions: [String] {
        var parts = self.ids.sorted().map { "id=\($0)" }
        if let user { parts.append("user=\(user)") }
        if let provider { parts.append("provider=\(provider)") }
        switch self.place {
        case .host(let name): parts.append("host=\(name)")
        case .app(let hosts): parts.append("app=\(hosts.name)")
        case nil: break
        }
        if let before { parts.append("before=\(before)") }
        return parts.isEmpty ? ["all"] : parts
    }
}

/// The hosts whose requests lead to an app; the route table decides, so a host that another app names is not among those of
/// a wildcard.
struct AppHosts: Sendable {
    let name: String
    private let table: RouteTable
    private let index: Int

    /// The hosts of an app of a configuration; nil if there is no such app.
    init?(of name: String, in configuration: Configuration) {
        let routes = configuration.apps.map(\.route)
        guard let index = routes.firstIndex(where: { $0.app == name }) else { return nil }
        self.name = name
        self.index = index
        self.table = RouteTable(routes.map { ($0.origins.hosts, $0.path) })
    }

    /// Whether a host in normal form is one of them.
    func contains(_ host: String) -> Bool { self.table.entries(on: host).contains(self.index) }
}
