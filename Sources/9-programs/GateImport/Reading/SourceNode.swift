// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateYAML

/// A node of a YAML file that is imported.
struct SourceNode: Sendable {
    let node: YAMLNode
    let file: String

    /// Where it is.
    var place: ImportPlace { ImportPlace(file: self.file, line: self.node.mark.line) }
    /// Where the key of it is, if it has one.
    var owner: ImportPlace { ImportPlace(file: self.file, line: self.node.owner.line) }

    /// Whether nothing is written.
    var isNull: Bool { self.node.isNull }

    /// The text of a single value that is not empty.
    var text: String? {
        guard case .scalar(let text, _) = self.node.content, !self.node.isNull, !text.isEmpty else { return nil }
        return text
    }

    /// The elements of a list; nil if it is not one.
    var elements: [SourceNode]? {
        guard case .sequence(let nodes) = self.node.content else { return nil }
        return nodes.map { SourceNode(node: $0, file: self.file) }
    }

    /// Whether it is a list without elements.
    var isEmptyList: Bool { self.elements?.isEmpty ?? false }

    /// A list, or a single value as a list of one; nothing if it is null.
    var oneOrMany: [SourceNode] {
        if let elements { return elements }
        return self.isNull ? [] : [self]
    }

    /// The texts of a list or of a single value; nil if something else is in it.
    var texts: [String]? {
        let texts = self.oneOrMany.map(\.text)
        return texts.contains(nil) ? nil : texts.compactMap(\.self)
    }

    /// The entries of a mapping; empty if it is not one.
    var entries: [(name: String, value: SourceNode)] {
        guard case .mapping(let entries) = self.node.content else { return [] }
        return entries.map { ($0.name, SourceNode(node: $0.value, file: self.file)) }
    }

    var isMapping: Bool {
        guard case .mapping = self.node.content else { return false }
        return true
    }

    /// The value of a key, or nil if it is not written or null.
    subscript(name: String) -> SourceNode? {
        self.entries.first { $0.name == name }.flatMap { $0.value.isNull ? nil : $0.value }
    }

    /// A yes or no; nil if it is neither.
    var flag: Bool? {
        switch self.text?.lowercased() {
        case "true", "yes", "on": true
        case "false", "no", "off": false
        default: nil
        }
    }

    /// The document of a YAML file.
    init(file: ImportFile) throws(ImportFailure) {
        _ = try file.lines()
        let bytes = file.bytes.withoutByteOrderMark
        let access = FileAccess { _, _ in .missing }
        var reading = DecodingContext(bytes: bytes, name: file.name, folder: "", environment: [:], access: access)
        let any = Shape<YAMLNode>("a document", schema: .null) { node, _ in node }
        guard let node = reading.read(any, from: bytes) else {
            let diagnostic = reading.diagnostics.first
            let place = diagnostic?.location.map { ImportPlace(file: file.name, line: $0.line) }
            throw ImportFailure(diagnostic?.message ?? "this is not YAML", at: place)
        }
        self.init(node: node, file: file.name)
        try self.rejectDuplicates()
    }

    init(node: YAMLNode, file: String) {
        self.node = node
        self.file = file
    }

    /// A key that is written twice has two meanings, of which readers take different ones.
    private func rejectDuplicates() throws(ImportFailure) {
        var known: Set<String> = []
        for (name, value) in self.entries {
            guard known.insert(name).inserted else {
                throw ImportFailure("the key \(Scalar.quoted(name)) is here twice; remove one of them", at: value.owner)
            }
            try value.rejectDuplicates()
        }
        for element in self.elements ?? [] { try element.rejectDuplicates() }
    }
}
