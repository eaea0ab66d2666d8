// SPDX-License-Identifier: Apache-2.0

/// Builds the one document of a YAML text within bounds, aliases expanded.
struct YAMLComposer {
    /// The limits of a document.
    struct Bounds: Sendable {
        var bytes = 16 << 20
        var depth = 32
        var nodes = 1_000_000
    }

    private let events: YAMLEventReader
    private let bounds: Bounds
    private let required: String
    private var anchors: [String: YAMLNode] = [:]
    private var openAnchors: Set<String> = []
    private var nodes = 0

    private init(_ bytes: [UInt8], bounds: Bounds, required: String) {
        self.events = YAMLEventReader(bytes)
        self.bounds = bounds
        self.required = required
    }

    /// The document of a text, or its first error.
    ///
    /// - Parameters:
    ///   - bytes: The text.
    ///   - bounds: The limits.
    ///   - required: What an empty file lacks.
    /// - Returns: The root.
    /// - Throws: The first error.
    static func document(
        of bytes: [UInt8],
        bounds: Bounds = Bounds(),
        required: String = "'gateway', 'providers' and 'apps'"
    ) throws(YAMLFailure) -> YAMLNode {
        guard bytes.count <= bounds.bytes else {
            throw YAMLFailure(message: "the file is larger than \(bounds.bytes >> 20) MiB", mark: .start)
        }
        if let mark = SourceLines.firstInvalid(in: bytes) {
            throw YAMLFailure(message: "the file is not UTF-8; save it as UTF-8", mark: mark)
        }
        var composer = YAMLComposer(bytes, bounds: bounds, required: required)
        return try composer.document()
    }

    private mutating func document() throws(YAMLFailure) -> YAMLNode {
        _ = try self.events.next()
        let start = try self.events.next()
        guard start.kind == .documentStart else {
            throw YAMLFailure(
                message: "the file is empty; it needs \(self.required)",
                mark: .start
            )
        }
        let root = try self.node(from: try self.events.next(), depth: 1)
        _ = try self.events.next()
        let after = try self.events.next()
        guard after.kind == .streamEnd else {
            throw YAMLFailure(message: "a second document starts here; the file may hold one only", mark: after.mark)
        }
        return root
    }

    private mutating func node(from event: YAMLEvent, depth: Int) throws(YAMLFailure) -> YAMLNode {
        guard !event.hasTag else {
            throw YAMLFailure(message: "tags such as !!str have no meaning here; remove the tag", mark: event.mark)
        }
        if case .alias(let name) = event.kind { return try self.expansion(of: name, at: event, depth: depth) }
        try self.count(1, depth: depth, at: event.mark)
        if let anchor = event.anchor { self.openAnchors.insert(anchor) }
        let node =
            switch event.kind {
            case .sequenceStart: try self.sequence(from: event.mark, depth: depth)
            case .mappingStart: try self.mapping(from: event.mark, depth: depth)
            case .scalar(let text, let isPlain):
                YAMLNode(.scalar(text, isPlain: isPlain), from: event.mark, to: event.end)
            default: throw YAMLFailure(message: "this is not YAML: a value is missing", mark: event.mark)
            }
        if let anchor = event.anchor {
            self.openAnchors.remove(anchor)
            self.anchors[anchor] = node
        }
        return node
    }

    private mutating func count(_ count: Int, depth: Int, at mark: YAMLMark) throws(YAMLFailure) {
        guard depth <= self.bounds.depth else {
            throw YAMLFailure(message: "more than \(self.bounds.depth) levels inside one another", mark: mark)
        }
        self.nodes += count
        guard self.nodes <= self.bounds.nodes else {
            let message = "more than \(self.bounds.nodes) values, aliases expanded"
            throw YAMLFailure(message: message, mark: mark)
        }
    }

    private mutating func expansion(of name: String, at event: YAMLEvent, depth: Int) throws(YAMLFailure) -> YAMLNode {
        guard !self.openAnchors.contains(name) else {
            throw YAMLFailure(message: "'*\(name)' is inside of its own anchor", mark: event.mark)
        }
        guard let node = self.anchors[name] else {
            throw YAMLFailure(message: "'*\(name)' has no '&\(name)' above it", mark: event.mark)
        }
        try self.count(node.count, depth: depth + node.depth - 1, at: event.mark)
        return node
    }

    private mutating func sequence(from mark: YAMLMark, depth: Int) throws(YAMLFailure) -> YAMLNode {
        var elements: [YAMLNode] = []
        while true {
            let event = try self.events.next()
            guard event.kind != .sequenceEnd else { return YAMLNode(.sequence(elements), from: mark, to: event.end) }
            elements.append(try self.node(from: event, depth: depth + 1))
        }
    }

    private mutating func mapping(from mark: YAMLMark, depth: Int) throws(YAMLFailure) -> YAMLNode {
        var entries: [YAMLEntry] = []
        while true {
            let event = try self.events.next()
            guard event.kind != .mappingEnd else { return YAMLNode(.mapping(entries), from: mark, to: event.end) }
            let key = try self.node(from: event, depth: depth + 1)
            guard case .scalar(let name, _) = key.content else {
                throw YAMLFailure(message: "a key must be a single text", mark: event.mark)
            }
            var value = try self.node(from: try self.events.next(), depth: depth + 1)
            value.owner = event.mark
            entries.append(YAMLEntry(name: name, key: key, value: value))
        }
    }
}
