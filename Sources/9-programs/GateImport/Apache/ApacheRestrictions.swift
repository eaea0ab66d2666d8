// SPDX-License-Identifier: Apache-2.0

internal import GateYAML

/// What may narrow the access to a virtual host beside the rules of its URLs.
///
/// A directive that is neither read by a converter nor known as harmless denies all apps of the host.
struct ApacheRestrictions {
    /// Whether every directive that concerns forwarded requests is understood.
    private(set) var isKnown = true
    /// A section with rules for files that Apache serves itself, or a directive about them that is not understood.
    ///
    /// Forwarded requests are in no such section.
    private(set) var files: ApacheNode?
    /// Whether the rules of files can be replaced by those of URLs.
    private(set) var filesAreKnown = true
    /// A section with rules for forwarded requests, which those of URLs replace.
    private(set) var proxied: ApacheNode?
    private let rewriting: ApacheRewriting

    private enum Area {
        case host
        case files
    }

    private static let fileSections: Set<String> = ["directory", "directorymatch", "files", "filesmatch"]
    /// The directives that converters read or report.
    private static let read: Set<String> = [
        "require", "authtype", "servername", "serveralias", "proxypass", "proxypreservehost", "header", "requestheader",
    ]

    init(_ server: ApacheServer, _ notes: inout ImportNotes) {
        let passes = server.nodes.filter { $0.name == "proxypass" }.compactMap { $0.arguments.dropFirst().first }
        let inner = server.locations.flatMap { $0.all("proxypass") }.compactMap(\.arguments.first)
        let targets = (passes + inner).compactMap { target in
            target.firstRange(of: "://").map { String(target[$0.upperBound...].prefix { $0 != "/" }) }
        }
        self.rewriting = ApacheRewriting(targets: Set(targets))
        self.check(server.nodes, .host, &notes)
    }

    private mutating func check(_ nodes: [ApacheNode], _ area: Area, _ notes: inout ImportNotes) {
        let admitsAll = HarmlessDirective.admitAll(nodes)
        var conditions: [ApacheNode] = []
        for node in nodes {
            guard node.condition == nil else {
                self.add(node, area, &notes)
                continue
            }
            switch node.name {
            case "location", "locationmatch", "requireall", "requireany", "requirenone":
                self.check(node.children ?? [], area, &notes)
            case "proxy", "proxymatch":
                self.check(node.children ?? [], .host, &notes)
                if self.hasRules(node) { self.proxied = node }
            case _ where Self.fileSections.contains(node.name):
                self.check(node.children ?? [], .files, &notes)
                if self.hasRules(node) { self.files = node }
            case "order" where admitsAll, "allow" where admitsAll: continue
            case "rewritecond": conditions.append(node)
            case "rewriterule":
                if self.rewriting.isHarmless(node, conditions: conditions) {
                    notes.note("'rewriterule' is not carried over: it changes no access", at: node.place)
                } else {
                    self.add(node, area, &notes)
                }
                conditions = []
            case _ where node.name.hasPrefix("oidc"):
                if ApacheDirective.narrows(node) { self.add(node, area, &notes) }
            default:
                let isHarmless = Self.read.contains(node.name) || HarmlessDirective.contains(node)
                if !isHarmless { self.add(node, area, &notes) }
            }
        }
    }

    /// Whether a section does more than admit all clients.
    private func hasRules(_ section: ApacheNode) -> Bool {
        let nodes = section.children ?? []
        return nodes.contains { $0.name == "authtype" || Self.fileSections.contains($0.name) && self.hasRules($0) }
            || nodes.contains(where: RequireRules.isRule) && !RequireRules.areOpen(nodes)
    }

    private mutating func add(_ node: ApacheNode, _ area: Area, _ notes: inout ImportNotes) {
        let name = Scalar.quoted(node.name)
        let cause =
            node.condition.map { "\(name) depends on '\($0)', which cannot be decided here, and" }
            ?? "\(name) may narrow access and"
        let help =
            node.name.hasPrefix("include")
            ? "; name that file on the command line too" : node.name == "use" ? "; write what the macro contains" : ""
        switch area {
        case .host:
            self.isKnown = false
            notes.warning(
                "\(cause) cannot be carried over; all apps of this host are denied to all users\(help)",
                at: node.place
            )
        case .files:
            self.files = node
            self.filesAreKnown = false
            notes.warning(
                "\(cause) cannot be carried over; apps of this host without a ProxyPass are denied to all users\(help)",
                at: node.place
            )
        }
    }
}
