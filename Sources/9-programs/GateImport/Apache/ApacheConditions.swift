// SPDX-License-Identifier: Apache-2.0

/// Replaces sections that apply under a condition by what they contain, and `Include` by the file that was given.
///
/// What depends on a condition that is not known keeps its mark, unless it cannot narrow access either way.
struct ApacheConditions {
    /// The files that were given, by the last part of their names, which an `Include` may name.
    private var files: [String: [ApacheNode]]

    private static let conditions: Set<String> = [
        "ifmodule", "ifdefine", "ifversion", "iffile", "ifdirective", "ifsection", "if", "elseif", "else", "limit",
        "limitexcept",
    ]
    /// Modules without which the configuration would not be one of mod_auth_openidc.
    private static let present: Set<String> = [
        "mod_auth_openidc.c", "auth_openidc_module", "mod_authz_core.c", "authz_core_module", "mod_authn_core.c",
        "authn_core_module", "core.c", "core_module",
    ]
    /// Modules without which a host with TLS, or the forwarding of requests, would not exist.
    private static let needed: Set<String> = [
        "mod_ssl.c", "ssl_module", "mod_proxy.c", "proxy_module", "mod_proxy_http.c", "proxy_http_module",
    ]

    /// The directives of some files; one that another includes is read in its place.
    static func nodes(of files: [(name: String, nodes: [ApacheNode])]) -> [ApacheNode] {
        let included = Set(files.flatMap { self.includes(in: $0.nodes) })
        let names = files.map { self.lastPart(of: $0.name) }
        let unique = Set(names.filter { name in names.count { $0 == name } == 1 })
        var resolver = ApacheConditions(files: [:])
        var roots: [[ApacheNode]] = []
        for (file, name) in zip(files, names) {
            if unique.contains(name), included.contains(name) {
                resolver.files[name] = file.nodes
            } else {
                roots.append(file.nodes)
            }
        }
        let resolved = roots.flatMap { resolver.resolved($0) }
        // Files that only include one another.
        return resolved + resolver.files.sorted { $0.key < $1.key }.flatMap(\.value)
    }

    private static func lastPart(of path: String) -> String { path.split(separator: "/").last.map(String.init) ?? path }

    private static func isInclude(_ node: ApacheNode) -> Bool {
        node.name == "include" || node.name == "includeoptional"
    }

    private static func includes(in nodes: [ApacheNode]) -> [String] {
        nodes.flatMap { node in
            self.isInclude(node) ? node.arguments.map(self.lastPart) : self.includes(in: node.children ?? [])
        }
    }

    private mutating func resolved(_ nodes: [ApacheNode]) -> [ApacheNode] {
        nodes.flatMap { node -> [ApacheNode] in
            if Self.isInclude(node) {
                // Once, since files that include one another would never end.
                let file = node.arguments.last.map(Self.lastPart).flatMap { self.files.removeValue(forKey: $0) }
                return file.map { self.resolved($0) } ?? [node]
            }
            guard let children = node.children, node.name != "macro" else { return [node] }
            let inner = self.resolved(children)
            guard Self.conditions.contains(node.name) else {
                var section = node
                section.children = inner
                return [section]
            }
            switch self.holds(node) {
            case true?: return inner
            case false?: return []
            case nil: return inner.map { self.uncertain($0, in: node) }
            }
        }
    }

    /// Whether the condition of a section holds; nil if that is not known.
    private func holds(_ node: ApacheNode) -> Bool? {
        let words = node.arguments.map { $0.lowercased() }
        switch node.name {
        case "ifmodule":
            guard let name = words.first else { return nil }
            let isNegated = name.hasPrefix("!")
            return Self.present.contains(isNegated ? String(name.dropFirst()) : name) ? !isNegated : nil
        case "ifversion":
            // Rules as these have been possible since 2.4.
            switch words {
            case [">=", "2.4"], [">=", "2.4.0"], [">=", "2.3"], [">", "2.2"]: return true
            case ["<", "2.4"], ["<", "2.4.0"], ["<", "2.3"], ["<=", "2.2"]: return false
            default: return nil
            }
        default: return nil
        }
    }

    /// A directive that may or may not apply.
    private func uncertain(_ child: ApacheNode, in section: ApacheNode) -> ApacheNode {
        let isNeeded = section.name == "ifmodule" && Self.needed.contains(section.arguments.first?.lowercased() ?? "")
        if isNeeded, ["virtualhost", "proxypass", "proxypreservehost"].contains(child.name) { return child }
        if child.condition == nil, HarmlessDirective.contains(child) || Self.neutral.contains(child.name) {
            return child
        }
        var child = child
        let condition = "<\(section.text)>"
        if child.name == "virtualhost" {
            let mark = ApacheNode(name: section.name, arguments: section.arguments, place: section.place)
            child.children = (child.children ?? []) + [mark.depending(on: condition)]
            return child
        }
        return child.depending(on: condition)
    }

    /// Directives that converters report, and that change no access.
    private static let neutral: Set<String> = ["header", "requestheader", "serveralias"]
}

extension ApacheNode {
    fileprivate func depending(on condition: String) -> ApacheNode {
        var node = self
        node.condition = node.condition ?? condition
        return node
    }
}
