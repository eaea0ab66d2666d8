// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// How the paths that clients send become those that an app gets, by whole segments, and back; made once for a route.
///
/// It is what `strip_prefix`, the path of an upstream and `rewrite` come to: each replaces segments at the front of the canonical
/// path. What follows them stays as it is, byte for byte, and so the path that the app gets is as safe as the one that was decided
/// about. A class, since it is looked at for each request.
package final class PathMapping: Sendable {
    /// Segments that are replaced by others.
    package struct Rule: Sendable, Hashable {
        /// What clients send, without a slash at its end; empty for every path.
        package let from: String
        /// What the app gets in its place; empty for nothing.
        package let to: String
        fileprivate let fromBytes: [UInt8]
        fileprivate let toBytes: [UInt8]

        /// Replaces one canonical path without other readings by another; a slash at the end makes no difference.
        package init(from: String, to: String) {
            self.from = from.hasSuffix("/") ? String(from.dropLast()) : from
            self.to = to.hasSuffix("/") ? String(to.dropLast()) : to
            (self.fromBytes, self.toBytes) = (Array(self.from.utf8), Array(self.to.utf8))
        }
    }

    /// The rules, that with the longest `from` first.
    package let rules: [Rule]
    /// Their positions, that of the longest `to` first.
    private let backwards: [Int]
    /// What clients send without escapes and letter case, where a server could take one rule for another; else empty.
    private let folded: [[UInt8]]
    /// Whether the app is only a part of its server, or has several mappings, so that no reading of a path may lead to another one.
    package let isConfined: Bool

    /// A mapping; nil if the app gets every path as it is.
    ///
    /// - Parameter rules: The rules, each with another `from`; what none of them is for stays as it is.
    package init?(_ rules: [Rule]) {
        guard rules.contains(where: { $0.from != $0.to }) else { return nil }
        let sorted = rules.enumerated().sorted {
            ($1.element.fromBytes.count, $0.offset) < ($0.element.fromBytes.count, $1.offset)
        }.map(\.element)
        self.rules = sorted
        self.backwards = sorted.indices.sorted {
            (sorted[$1].toBytes.count, $0) < (sorted[$0].toBytes.count, $1)
        }
        self.folded = sorted.count > 1 ? sorted.map { PathMapping.fold($0.fromBytes) } : []
        self.isConfined = sorted.count > 1 || sorted.contains { !$0.to.isEmpty }
    }

    /// The rule for a canonical path that a client has sent; nil if it stays as it is.
    package func rule(for path: Span<UInt8>) -> Int? {
        self.rules.indices.first { PathMapping.covers(self.rules[$0].fromBytes, path) }
    }

    /// The path that an app gets for a canonical one.
    package func mapped(_ path: String) -> String {
        let bytes = Array(path.utf8)
        guard let rule = self.rule(for: bytes.span).map({ self.rules[$0] }) else { return path }
        let rest = bytes.dropFirst(rule.fromBytes.count)
        let mapped = rule.toBytes + rest
        return mapped.isEmpty ? "/" : String(decoding: mapped, as: UTF8.self)
    }

    /// The path under which clients reach what is a path of the app for the app itself; nil if that stays as it is.
    ///
    /// A path that is below what clients send comes from an app that knows where it is.
    ///
    /// - Parameters:
    ///   - path: A path without a query; empty for a URL without a path.
    ///   - own: The rule by which the request was mapped to which the app responds; it goes before others.
    /// - Returns: The path.
    package func publicPath(of path: String, mappedBy own: Int? = nil) -> String? {
        let bytes = Array(path.utf8)
        let order = (own.map { [$0] } ?? []) + self.backwards
        guard let rule = order.map({ self.rules[$0] }).first(where: { PathMapping.covers($0.toBytes, bytes.span) })
        else { return nil }
        let isKnown = rule.to.isEmpty && !rule.from.isEmpty && PathMapping.covers(rule.fromBytes, bytes.span)
        guard !isKnown else { return nil }
        let mapped = rule.fromBytes + bytes.dropFirst(rule.toBytes.count)
        return mapped.isEmpty && !bytes.isEmpty ? "/" : String(decoding: mapped, as: UTF8.self)
    }

    /// The value of `Path` in a cookie under which clients send it to the app; nil if it stays as it is.
    ///
    /// - Parameters:
    ///   - path: The value, which begins with a slash.
    ///   - own: The rule by which the request was mapped.
    ///   - whole: The path of the app, below which all of its paths are.
    /// - Returns: The value.
    package func cookiePath(of path: String, mappedBy own: Int? = nil, below whole: String) -> String? {
        let segments = path.hasSuffix("/") ? String(path.dropLast()) : path
        // What covers all paths of the app for the app covers all of them for clients.
        let isWhole = self.rules.allSatisfy { rule in
            rule.to == segments ? path == "/" : rule.to.hasPrefix("\(segments)/")
        }
        guard !isWhole, let mapped = self.publicPath(of: path, mappedBy: own) else { return isWhole ? whole : nil }
        // No other app of the host gets the cookie.
        let segmentsOfMapped = mapped.hasSuffix("/") ? String(mapped.dropLast()) : mapped
        return whole.hasPrefix("\(segmentsOfMapped)/") ? whole : mapped
    }

    /// Whether some server could see a path below other segments than those by which it was mapped.
    ///
    /// - Parameters:
    ///   - path: The canonical path.
    ///   - readings: What servers see in it.
    /// - Returns: Whether one of them does.
    package func isAmbiguous(_ path: Span<UInt8>, read readings: some Sequence<[UInt8]>) -> Bool {
        guard !self.folded.isEmpty else { return false }
        let own = self.rule(for: path)
        return readings.contains { reading in
            let seen = PathMapping.fold(reading)
            return self.folded.firstIndex { PathMapping.covers($0, seen.span) } != own
        }
    }

    /// A path without escapes and letter case, as some server reads it.
    package static func folded(_ path: String) -> [UInt8] { self.fold(Array(path.utf8)) }

    private static func covers(_ prefix: [UInt8], _ path: Span<UInt8>) -> Bool {
        guard path.count >= prefix.count else { return false }
        for index in prefix.indices where prefix[index] != path[index] { return false }
        return path.count == prefix.count || prefix.isEmpty || path[prefix.count] == UInt8(ascii: "/")
    }

    private static func fold(_ path: [UInt8]) -> [UInt8] {
        PathNormalization.folded(Array(PathNormalization.decoded(String(decoding: path, as: UTF8.self)).utf8))
    }
}

extension PathMapping.Rule {
    /// How many bytes at the front of a path are replaced, in the spelling by which it is matched.
    var length: Int { self.fromBytes.count }

    /// What takes their place.
    var replacement: [UInt8] { self.toBytes }
}

extension CanonicalPath {
    /// Calls `body` with the parts of the path as an app gets it, in order.
    ///
    /// - Parameters:
    ///   - message: The head of the request.
    ///   - mapping: How the app gets it; nil for as it is.
    ///   - body: What is done with each part.
    package func forEachPart(
        of message: MessageHead,
        mappedBy mapping: PathMapping?,
        _ body: (Span<UInt8>) -> Void
    ) {
        guard let mapping else { return self.withForwarded(of: message, body) }
        let found = self.withSpan(of: message) { path in
            mapping.rule(for: path).map { (rule: mapping.rules[$0], isWhole: mapping.rules[$0].length == path.count) }
        }
        guard let (rule, isWhole) = found else { return self.withForwarded(of: message, body) }
        if !rule.replacement.isEmpty {
            body(rule.replacement.span)
            guard !isWhole else { return }
        }
        self.withForwarded(of: message, droppingPrefix: rule.length, body)
    }

    /// The path as an app gets it.
    package func text(in message: MessageHead, mappedBy mapping: PathMapping?) -> String {
        var bytes: [UInt8] = []
        self.forEachPart(of: message, mappedBy: mapping) { part in
            for index in part.indices { bytes.append(part[index]) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
