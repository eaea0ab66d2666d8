// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GatePolicy
internal import GateProxy
internal import GateWire
internal import GateYAML

/// `rewrite` as the file has it: whether responses are mapped, or the paths that the app gets in place of others.
enum RewriteDraft: Sendable {
    case responses(Bool)
    case rules([PathRewriteDraft])

    /// Whether responses are mapped.
    var mapsResponses: Bool {
        guard case .responses(let flag) = self else { return true }
        return flag
    }

    /// The paths that are replaced.
    var rules: [PathRewriteDraft] {
        guard case .rules(let rules) = self else { return [] }
        return rules
    }
}

/// One pair of paths as the file has it.
struct PathRewriteDraft: Sendable {
    let from: Located<String>
    let to: String
}

/// The same while it is read.
private struct PathPair: Sendable {
    var from: Located<String>?
    var to: String?
}

extension Mapping<PathPair> {
    fileprivate static let pathPair = Mapping(
        "a rewrite",
        path: "apps.<name>.rewrite",
        summary:
            "Segments at the front of paths that are replaced. `rewrite` is one such mapping, a list of up to 64, or `false`.",
        make: { PathPair() },
        keys: [
            Key(
                "from",
                located: \.from,
                .appPath,
                .init(isRequired: true, example: "/old"),
                "The path that clients send, at or below the app's `path`; all paths below it are meant too."
            ),
            Key(
                "to",
                \.to,
                .appPath,
                .init(isRequired: true, example: "/new"),
                "What the app gets in its place; `/` removes it. The path of the upstream is put before."
            ),
        ]
    )
}

extension Shape<RewriteDraft> {
    private static let maxRules = 64

    /// A flag, a pair of paths, or a list of pairs.
    static let rewrite: Shape = {
        let pair = Mapping<PathPair>.pathPair.shape.whole
        let several: JSON = ["type": "array", "items": pair.schema, "minItems": 1, "maxItems": .int(Int64(maxRules))]
        let schema: JSON = ["anyOf": [["type": "boolean"], pair.schema, several]]
        return Shape("`false`, or paths", schema: schema, sections: pair.sections) { node, reading in
            guard !node.isNull else {
                reading.wrongType(node, kind: "true, false, a mapping with 'from' and 'to', or a list of these")
                return nil
            }
            let nodes: [YAMLNode]
            switch node.content {
            case .scalar: return Shape<Bool>.flag.read(node, &reading).map(RewriteDraft.responses)
            case .mapping: nodes = [node]
            case .sequence(let elements) where !elements.isEmpty && elements.count <= maxRules: nodes = elements
            case .sequence(let elements):
                let help = elements.isEmpty ? "the list is empty; remove it" : "more than \(maxRules) rewrites"
                reading.error(help, at: node.mark)
                return nil
            }
            let pairs = nodes.compactMap { pair.read($0, &reading) }.compactMap { pair -> PathRewriteDraft? in
                guard let from = pair.from, let to = pair.to else { return nil }
                return PathRewriteDraft(from: from, to: to)
            }
            return .rules(pairs)
        }
    }()
}

extension AppDraft {
    /// Checks that the paths that the app gets in place of others are meant so.
    func checkPathsOfApp(_ written: Mapping<AppDraft>.Written, _ reading: inout DecodingContext) {
        let own = self.path?.value ?? "/"
        let isUnread = written.keys["path"] != nil && self.path == nil
        var lines: [[UInt8]: Int] = [:]
        for rule in isUnread ? [] : self.rewrite?.rules ?? [] {
            let (from, mark) = (rule.from.value, rule.from.mark)
            let shown = Scalar.quoted(from, limit: 4096)
            if own != "/", from != own, !from.hasPrefix("\(own)/") {
                let help = "'from' is the whole path that clients send"
                reading.error("\(shown) is outside of the app's path '\(own)', so no request has it; \(help)", at: mark)
            } else if let line = lines.updateValue(mark.line, forKey: PathMapping.folded(from)) {
                let reason = "a server may take both for one path, without regard to letter case and escapes"
                reading.error("\(shown) is here twice; first in line \(line); \(reason)", at: mark)
            } else if from == own, self.traffic.stripsPrefix, own != "/" {
                let help = "'strip_prefix' is the same as a rewrite of the app's path to '/'; remove one of them"
                reading.error("\(shown) is the app's path, which 'strip_prefix' removes: \(help)", at: mark)
            } else if from == rule.to, !self.traffic.stripsPrefix {
                reading.warning("this rewrite has no effect, since both paths are the same", at: mark)
            }
        }
        self.warnOfRepeatedBase(own, &reading)
    }

    /// Other proxies put the path of an upstream in place of that of the app.
    private func warnOfRepeatedBase(_ own: String, _ reading: inout DecodingContext) {
        guard let base = self.upstream?.base, !base.isEmpty, own != "/", !self.traffic.stripsPrefix,
            base == own || base.hasSuffix(own), self.rewrite?.rules.isEmpty ?? true, let mark = self.upstreamMark
        else { return }
        let seen = "the app gets '\(base)\(own)/page' for '\(own)/page'"
        reading.warning("\(seen); write 'strip_prefix: true' if it expects '\(base)/page'", at: mark)
    }
}
