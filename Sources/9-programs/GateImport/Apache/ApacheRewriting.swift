// SPDX-License-Identifier: Apache-2.0

/// Finds rewriting that cannot narrow access.
///
/// https://httpd.apache.org/docs/2.4/mod/mod_rewrite.html
struct ApacheRewriting {
    /// The host and port of each `ProxyPass`.
    let targets: Set<String>

    private static let whole: Set<String> = ["/$1", "$1", "%{REQUEST_URI}", "/%{REQUEST_URI}"]
    private static let statuses: Set<String> = ["301", "302", "303", "307", "308", "PERMANENT", "TEMP", "SEEOTHER"]

    /// Whether a rule changes nothing, sends plain HTTP to HTTPS, or forwards WebSockets as `ProxyPass` forwards the rest.
    func isHarmless(_ rule: ApacheNode, conditions: [ApacheNode]) -> Bool {
        guard rule.arguments.count == 2 || rule.arguments.count == 3 else { return false }
        let target = rule.arguments[1]
        guard let flags = self.flags(rule) else { return false }
        if target == "-" { return flags.isSubset(of: ["L", "LAST", "END", "NC", "NOCASE", "E", "ENV", "C", "CHAIN"]) }
        let conditions = conditions.filter { $0.arguments.count >= 2 }
        // With [OR], another condition would suffice.
        guard !conditions.contains(where: { $0.arguments.count > 2 && $0.arguments[2].uppercased() != "[NC]" }) else {
            return false
        }
        return self.isSecureRedirect(target, flags, conditions) || self.isWebSocket(target, flags, conditions)
    }

    /// The flags without their values; nil if one redirects with a status that is not a redirect.
    private func flags(_ rule: ApacheNode) -> Set<String>? {
        guard rule.arguments.count == 3 else { return [] }
        let text = rule.arguments[2]
        guard text.hasPrefix("["), text.hasSuffix("]") else { return nil }
        var names: Set<String> = []
        for flag in text.dropFirst().dropLast().split(separator: ",") {
            let sides = flag.split(separator: "=", maxSplits: 1).map { $0.uppercased() }
            guard let name = sides.first?.trimmingPrefix(while: { $0 == " " }) else { continue }
            if ["R", "REDIRECT"].contains(name), sides.count > 1, !Self.statuses.contains(sides[1]) { return nil }
            names.insert(String(name))
        }
        return names
    }

    /// The gateway never forwards what came without TLS, so a rule for such requests never applies.
    private func isSecureRedirect(_ target: String, _ flags: Set<String>, _ conditions: [ApacheNode]) -> Bool {
        let starts = ["https://%{HTTP_HOST}", "https://%{SERVER_NAME}"]
        guard let start = starts.first(where: { target.hasPrefix($0) }),
            Self.whole.contains(String(target.dropFirst(start.count))), !flags.isDisjoint(with: ["R", "REDIRECT"]),
            flags.isSubset(of: ["R", "REDIRECT", "L", "LAST", "END", "NE", "NOESCAPE", "NC", "NOCASE", "QSA"])
        else { return false }
        return conditions.contains { condition in
            let value = condition.arguments[1].lowercased()
            return switch condition.arguments[0].uppercased() {
            case "%{HTTPS}": ["off", "=off", "^off$", "!on", "!=on", "!^on$"].contains(value)
            case "%{SERVER_PORT}": ["80", "=80", "^80$", "!443", "!=443", "!^443$"].contains(value)
            case "%{REQUEST_SCHEME}": ["http", "=http", "^http$", "!https", "!=https", "!^https$"].contains(value)
            default: false
            }
        }
    }

    private func isWebSocket(_ target: String, _ flags: Set<String>, _ conditions: [ApacheNode]) -> Bool {
        guard let scheme = ["ws://", "wss://"].first(where: { target.hasPrefix($0) }),
            flags.isSubset(of: ["P", "PROXY", "L", "LAST", "END", "NC", "NOCASE", "QSA", "NE", "NOESCAPE"]),
            !flags.isDisjoint(with: ["P", "PROXY"])
        else { return false }
        let authority = target.dropFirst(scheme.count).prefix { $0 != "/" && $0 != "%" && $0 != "$" }
        guard Self.whole.contains(String(target.dropFirst(scheme.count + authority.count))) else { return false }
        return self.targets.contains(String(authority))
            && conditions.contains { $0.arguments[0].uppercased() == "%{HTTP:UPGRADE}" }
    }
}
