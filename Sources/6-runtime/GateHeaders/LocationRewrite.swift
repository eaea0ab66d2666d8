// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
internal import GateCore
internal import GatePolicy
internal import GateProxy
internal import GateWire

/// Maps URLs and cookies of an app from the app's own view of its URL to the URL that browsers use.
///
/// RFC 9110 §7.7 leaves this to gateways. What is not certain to be the app itself stays as it is. A class, since each response looks
/// at it, and a copy would count the references of all of its parts.
final class LocationRewrite: Sendable {
    /// The longest value that is mapped, in bytes.
    static let maxBytes = 8192

    /// The origins under which browsers reach the app.
    private let origins: OriginSet
    /// Where the hosts have the gateway's endpoints.
    private let endpoints: EndpointPrefix
    /// How the app gets the paths that clients send; nil for as they are.
    private let paths: PathMapping?
    /// The path of the app.
    private let path: String
    /// The authorities by which the app may know itself: its targets and `upstream_host`, in lower case.
    private let authorities: Set<String>
    /// The hosts of these, without ports.
    private let upstreamHosts: Set<String>
    /// The ports that the app's own host may be given with: none, the usual ones, its targets'.
    private let ports: Set<Int>
    /// The host of `public_url`, whose own paths are other ones than those of an app's host.
    private let gatewayHost: String
    /// Whether cookies may carry a path or a domain that only the app's side knows.
    let mapsCookies: Bool

    /// The mapping for an app; nil if its requests are not forwarded.
    init?(_ app: AppSettings, gatewayHost: String, below endpoints: EndpointPrefix) {
        guard let upstream = app.upstream else { return nil }
        self.origins = app.route.origins
        self.gatewayHost = gatewayHost
        self.endpoints = endpoints
        self.paths = app.pathMapping
        let path = app.route.path
        self.path = path.hasSuffix("/") && path != "/" ? String(path.dropLast()) : path
        let targets = upstream.targets.compactMap(\.origin)
        let named = app.traffic.upstreamHost.map { [$0.lowercased()] } ?? []
        self.authorities = Set(targets.map(\.authority) + named)
        self.upstreamHosts = Set(targets.map(\.host) + named.map { String($0.prefix { $0 != ":" }) })
        self.ports = Set([80, 443, app.route.origins.port] + targets.map(\.port))
        self.mapsCookies = self.paths != nil || app.traffic.upstreamHost != nil
    }

    /// The rule by which the path of a request was mapped for the app; nil if that is clear or makes no difference.
    func rule(of request: RequestHead) -> Int? {
        guard let paths, paths.rules.count > 1 else { return nil }
        return request.path.withSpan(of: request.message) { paths.rule(for: $0) }
    }

    /// `5; url=/page`, with the URL in quotes or not, in the response to a request for `host` that was mapped by a rule.
    func refresh(_ text: String, on host: String, mappedBy rule: Int? = nil) -> String? {
        let bytes = Array(text.utf8)
        let name = Array("url=".utf8)
        guard bytes.count >= name.count,
            let mark = (0...(bytes.count - name.count)).first(where: { start in
                name.indices.allSatisfy { bytes[start + $0] | (name[$0] == UInt8(ascii: "=") ? 0 : 0x20) == name[$0] }
            })
        else { return nil }
        var start = mark + name.count
        var end = bytes.count
        if start < end, bytes[start] == UInt8(ascii: "\"") || bytes[start] == UInt8(ascii: "'") {
            end = bytes[(start + 1)...].firstIndex(of: bytes[start]) ?? end
            start += 1
        }
        guard let mapped = self.location(String(decoding: bytes[start..<end], as: UTF8.self), on: host, mappedBy: rule)
        else { return nil }
        return String(decoding: bytes[..<start] + Array(mapped.utf8) + bytes[end...], as: UTF8.self)
    }

    /// A URL as browsers need it that have sent a request for `host`; nil if it stays as it is.
    func location(_ text: String, on host: String, mappedBy rule: Int? = nil) -> String? {
        guard !text.hasPrefix("/") || text.hasPrefix("//") else {
            let mapped = self.mapped(text, on: host, rule)
            guard mapped != text else { return nil }
            return LocationRewrite.namesHost(mapped) ? self.origins.text(of: host) + mapped : mapped
        }
        let scheme = ["http://", "https://", "//"].first { text.lowercased().hasPrefix($0) }
        guard let scheme else { return nil }
        let rest = text.dropFirst(scheme.count)
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let path = String(rest.dropFirst(authority.count))
        guard let named = self.host(of: authority, scheme, on: host) else { return nil }
        // A URL with the name of a server of the app cannot mean an endpoint of the gateway.
        let place = self.mapped(path, on: named.isServer ? nil : named.host, rule)
        let mapped = self.origins.text(of: named.host) + place
        return mapped == text ? nil : mapped
    }

    /// Whether browsers take a path for the URL of another host, since what followed the segments that were replaced begins with a slash.
    ///
    /// They leave out tabs and line ends, and take `\` for `/`. https://url.spec.whatwg.org/#url-parsing
    private static func namesHost(_ path: String) -> Bool {
        let seen = path.utf8.lazy.filter { $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }.prefix(2)
        return seen.count == 2 && seen.allSatisfy { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
    }

    /// The host of the app that a URL with this authority leads to: the one it names, or that of the request if it names a
    /// server of the app; nil if it leads elsewhere.
    private func host(
        of authority: Substring,
        _ scheme: String,
        on own: String
    ) -> (host: String, isServer: Bool)? {
        guard let sides = WebURL.split(authority: String(authority)), let host = Origin.normalHost(sides.host)
        else { return nil }
        let usual = scheme == "https://" ? 443 : 80
        let port = sides.port ?? usual
        if self.origins.contains(host) {
            let isOwnPort = scheme == "//" ? sides.port == nil : self.ports.contains(port)
            return isOwnPort ? (host, false) : nil
        }
        let isServer =
            self.authorities.contains(sides.port == nil ? host : "\(host):\(port)")
            || self.authorities.contains("\(host):\(port)")
        return isServer ? (own, true) : nil
    }

    /// A path of a host, with its query, as clients send it; without a host one that can only be the app's.
    ///
    /// One of the gateway's endpoints is meant so.
    private func mapped(_ text: String, on host: String?, _ rule: Int?) -> String {
        guard let paths else { return text }
        let path = String(text.prefix { $0 != "?" && $0 != "#" })
        let isOwn = host.map { self.endpoints.owns(path, isGatewayHost: $0 == self.gatewayHost) } ?? false
        guard !isOwn, let mapped = paths.publicPath(of: path, mappedBy: rule) else { return text }
        return mapped + text.dropFirst(path.count)
    }

    /// A cookie whose path and domain browsers can use; nil if it stays as it is.
    ///
    /// RFC 6265 §4.1.2. A cookie with the prefix `__Host-` has no domain and must keep `/` as its path.
    func cookie(_ text: String, on host: String, mappedBy rule: Int? = nil) -> String? {
        guard !text.lowercased().hasPrefix("__host-") else { return nil }
        var isChanged = false
        let parts = text.split(separator: ";", omittingEmptySubsequences: false).enumerated().compactMap {
            index,
            part -> String? in
            guard index > 0, let mapped = self.attribute(String(part), on: host, rule) else { return String(part) }
            isChanged = true
            return mapped.isEmpty ? nil : mapped
        }
        return isChanged ? parts.joined(separator: ";") : nil
    }

    /// An attribute that changes; empty for one that is left out, nil for one that stays.
    private func attribute(_ part: String, on host: String, _ rule: Int?) -> String? {
        let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard sides.count == 2 else { return nil }
        let value = sides[1].trimmingOptionalSpace()
        switch sides[0].trimmingOptionalSpace().lowercased() {
        case "path":
            guard value.hasPrefix("/"), let paths else { return nil }
            let mapped = paths.cookiePath(of: String(value), mappedBy: rule, below: self.path) ?? String(value)
            return mapped == value ? nil : " Path=\(mapped)"
        case "domain":
            let domain = value.lowercased().drop { $0 == "." }
            let isOfUpstream = self.upstreamHosts.contains { $0 == domain || $0.hasSuffix(".\(domain)") }
            let isOfApp = host == domain || host.hasSuffix(".\(domain)")
            return isOfUpstream && !isOfApp ? "" : nil
        default:
            return nil
        }
    }
}
