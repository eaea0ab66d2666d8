// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The state of one pass over a file: its inputs, and the diagnostics so far.
package struct DecodingContext {
    /// The maximum number of diagnostics that are shown.
    static let shownDiagnostics = 100
    /// The maximum size of a file for `${file:}` in bytes.
    static let referenceLimit = 64 << 10
    /// The maximum size of a certificate or key file in bytes.
    package static let certificateLimit = 1 << 20

    private struct Remark: Hashable {
        let severity: Diagnostic.Severity
        let message: String
        let mark: YAMLMark
    }

    /// A file whose nodes are decoded.
    private struct Source {
        let name: String
        let lines: SourceLines
        var mask = SecretMask()
    }

    private let folder: String
    private let environment: [String: String]
    private let access: FileAccess
    /// The configuration file and those that it includes; marks have the position.
    private var sources: [Source]
    private var remarks: Set<Remark> = []
    private var unlisted = 0
    private var hintsLeft = 200
    private var known: Set<String> = []
    private var includedNodes = 0
    /// How many errors there are.
    package private(set) var errors = 0
    /// The files that were read, in that order.
    package private(set) var files: [String] = []

    /// Starts a pass over the bytes of a file.
    package init(bytes: [UInt8], name: String, folder: String, environment: [String: String], access: FileAccess) {
        self.folder = folder
        self.environment = environment
        self.access = access
        self.sources = [Source(name: name, lines: SourceLines(bytes))]
    }

    /// Adds an error: the file cannot be used.
    package mutating func error(_ message: String, at mark: YAMLMark) {
        self.note(Remark(severity: .error, message: message, mark: mark))
    }

    /// Adds a warning: something is probably a mistake.
    package mutating func warning(_ message: String, at mark: YAMLMark) {
        self.note(Remark(severity: .warning, message: message, mark: mark))
    }

    /// The name that was probably meant; nil after 200 calls, which bounds the time for a file with many errors.
    package mutating func nearest(to text: String, in names: some Sequence<String>) -> String? {
        guard self.hintsLeft > 0 else { return nil }
        self.hintsLeft -= 1
        return Hint.nearest(to: text, in: names)
    }

    /// Masks a node in every source line that is shown; a reference reveals nothing, so it stays.
    package mutating func conceal(_ node: YAMLNode) {
        switch node.content {
        case .scalar(let text, _):
            guard !text.hasPrefix("${") else { return }
            self.sources[node.mark.file].mask.conceal(from: node.mark, to: node.end)
        case .sequence(let elements):
            for element in elements {
                self.conceal(element)
            }
        case .mapping(let entries):
            for entry in entries {
                self.conceal(entry.value)
            }
        }
    }

    /// The value of an environment variable, or nil.
    private func variable(_ name: String) -> String? {
        self.environment[name]
    }

    /// An absolute path for a path in the file, resolved against the folder of the file.
    package func path(_ text: String) -> String {
        FileAccess.resolve(text, in: self.folder)
    }

    /// Reads a file that the configuration depends on, and adds it to those to watch.
    private mutating func content(of path: String, limit: Int) -> FileAccess.Outcome {
        self.watch(path)
        return self.access.read(path, limit: limit)
    }

    /// The files that the configuration may depend on, to look at without a diagnostic; see ``watch(_:)``.
    package var watchedFiles: FileAccess { self.access }

    /// Adds a file to those to watch, whether it exists or not.
    package mutating func watch(_ path: String) {
        if self.known.insert(path).inserted { self.files.append(path) }
    }

    /// Who may read and change a file; nil if that is not known.
    private func mode(of path: String) -> FileMode? { self.access.mode(of: path) }

    package func place(of mark: YAMLMark) -> RulePlace {
        RulePlace(file: self.sources[mark.file].name, line: mark.line, isIncluded: mark.file > 0)
    }

    /// The beginning of the line of a rule; nil if the file is not one of this pass.
    package func mark(of place: RulePlace) -> YAMLMark? {
        self.sources.firstIndex { $0.name == place.file }.map { file in
            let text = self.sources[file].lines.text(ofLine: place.line) ?? ""
            let indent = text.unicodeScalars.prefix { $0 == " " || $0 == "-" }.count
            return YAMLMark(line: place.line, column: indent + 1, file: file)
        }
    }

    /// A line as a message at another mark names it: with the file, if that is another one.
    package func line(_ mark: YAMLMark, from other: YAMLMark) -> String {
        mark.file == other.file ? "line \(mark.line)" : "line \(mark.line) of \(self.sources[mark.file].name)"
    }

    /// Reads a file that the configuration file includes.
    ///
    /// - Parameters:
    ///   - text: The path as it is written.
    ///   - limit: The maximum size in bytes, which is lowered by that of the file.
    ///   - mark: Where it is written.
    /// - Returns: The root of the file; nil, and a diagnostic, if it cannot be read or is another value than a mapping.
    package mutating func include(_ text: String, limit: inout Int, at mark: YAMLMark) -> YAMLNode? {
        guard let bytes = self.bytes(of: self.path(text), limit: limit, at: mark)?.withoutByteOrderMark else {
            return nil
        }
        limit = max(0, limit - bytes.count)
        let file = self.sources.count
        self.sources.append(Source(name: self.shownPath(of: text), lines: SourceLines(bytes)))
        do throws(YAMLFailure) {
            var bounds = YAMLComposer.Bounds()
            bounds.nodes -= self.includedNodes
            let needs = "'providers', 'apps' or 'rules'"
            let root = try YAMLComposer.document(of: bytes, bounds: bounds, required: needs).inFile(file)
            self.includedNodes += root.count
            guard root.entries != nil else {
                self.wrongType(root, kind: "a mapping of 'providers', 'apps' and 'rules'")
                return nil
            }
            return root
        } catch {
            self.error(error.message, at: YAMLMark(line: error.mark.line, column: error.mark.column, file: file))
            return nil
        }
    }

    /// A path beside the configuration file, as messages name it.
    private func shownPath(of text: String) -> String {
        let name = self.sources[0].name
        guard !text.hasPrefix("/"), let slash = name.lastIndex(of: "/") else { return text }
        return "\(name[...slash])\(text)"
    }

    private mutating func note(_ remark: Remark) {
        guard self.remarks.count < 10_000 else {
            if remark.severity == .error { self.errors += 1 }
            self.unlisted += 1
            return
        }
        guard self.remarks.insert(remark).inserted, remark.severity == .error else { return }
        self.errors += 1
    }

    /// The diagnostics by location: at most 100, and a line that counts the rest.
    ///
    /// When not all fit, errors come before warnings.
    package var diagnostics: [Diagnostic] {
        let sorted = self.remarks.sorted {
            ($0.mark, $0.severity.rawValue, $0.message) < ($1.mark, $1.severity.rawValue, $1.message)
        }
        let errors = sorted.filter { $0.severity == .error }.prefix(DecodingContext.shownDiagnostics)
        let warnings = sorted.filter { $0.severity == .warning }.prefix(DecodingContext.shownDiagnostics - errors.count)
        let kept = Set(errors).union(warnings)
        let shown = sorted.filter { kept.contains($0) }.map { self.diagnostic($0) }
        let rest = sorted.count - shown.count + self.unlisted
        guard rest > 0 else { return shown }
        let severity: Diagnostic.Severity = self.errors > errors.count ? .error : .warning
        return shown + [Diagnostic(severity, "\(rest) more are not shown", at: nil)]
    }

    private func diagnostic(_ remark: Remark) -> Diagnostic {
        let (line, file) = (remark.mark.line, self.sources[remark.mark.file])
        let place = Diagnostic.Location(file: file.name, line: line, column: remark.mark.column)
        let source = file.lines.text(ofLine: line).map { file.mask.applied(to: $0, line: line) }
        return Diagnostic(remark.severity, remark.message, at: place, source: source)
    }
}

extension DecodingContext {
    /// The single value of a node, references filled in; nil, and a diagnostic, if it is not one.
    package mutating func scalar(_ node: YAMLNode, kind: String) -> Scalar? {
        guard case .scalar(let text, let isPlain) = node.content, !node.isNull else {
            self.wrongType(node, kind: kind)
            return nil
        }
        guard !isPlain || (text != "true" && text != "false") else {
            self.error("expected \(kind), found '\(text)'; put it in quotes if it is meant as text", at: node.mark)
            return nil
        }
        guard !DecodingContext.isShellVariable(text) else {
            self.error("a variable after '$' is not expanded; write ${env:NAME}", at: node.mark)
            return nil
        }
        guard text.contains("${") else { return Scalar(text: text, source: .written, mark: node.mark) }
        return self.reference(text, at: node.mark)
    }

    /// Whether a text is `$NAME`, as a shell expands it; `%NAME%` is the same elsewhere.
    private static func isShellVariable(_ text: String) -> Bool {
        let name: Substring
        if text.hasPrefix("$") {
            name = text.dropFirst()
        } else if text.hasPrefix("%"), text.hasSuffix("%"), text.utf8.count > 2 {
            name = text.dropFirst().dropLast()
        } else {
            return false
        }
        guard let first = name.utf8.first, (0x41...0x5A).contains(first) else { return false }
        return name.utf8.allSatisfy { byte in
            byte == UInt8(ascii: "_") || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
        }
    }

    /// Adds an error: a node is not of the expected kind.
    package mutating func wrongType(_ node: YAMLNode, kind: String) {
        guard !node.isNull else {
            return self.error("expected \(kind), found nothing; write a value or remove the key", at: node.owner)
        }
        self.error("expected \(kind), found \(node.kind)", at: node.mark)
    }

    private mutating func reference(_ text: String, at mark: YAMLMark) -> Scalar? {
        let body = text.dropFirst(2).dropLast()
        let isWhole = text.hasPrefix("${") && text.hasSuffix("}") && !body.contains("${") && !body.contains("}")
        let isKnown = text.contains("${env:") || text.contains("${file:")
        guard isWhole || !isKnown else {
            self.error("a reference must be the whole value; put all of the text into the variable or file", at: mark)
            return nil
        }
        guard isWhole, isKnown, let colon = body.firstIndex(of: ":") else {
            self.error("\(Scalar.quoted(text)) is not a reference; write ${env:NAME} or ${file:/path}", at: mark)
            return nil
        }
        let target = String(body[body.index(after: colon)...])
        let shown = "${\(Scalar.quoted(String(body)).dropFirst().dropLast())}"
        let value = body.hasPrefix("env:") ? self.environmentValue(target, at: mark) : self.fileValue(target, at: mark)
        let file = body.hasPrefix("file:") ? self.path(target) : nil
        return value.map { Scalar(text: $0, source: .reference(shown), mark: mark, file: file) }
    }

    private mutating func environmentValue(_ name: String, at mark: YAMLMark) -> String? {
        let isName = name.utf8.allSatisfy { byte in
            byte == UInt8(ascii: "_") || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF)
        }
        guard isName, !name.isEmpty else {
            self.error("\(Scalar.quoted(name)) is not a name of an environment variable", at: mark)
            return nil
        }
        guard let value = self.variable(name) else {
            self.error("the environment variable \(Scalar.quoted(name)) is not set", at: mark)
            return nil
        }
        guard !value.isEmpty else {
            self.error("the environment variable \(Scalar.quoted(name)) is empty", at: mark)
            return nil
        }
        return value
    }

    private mutating func fileValue(_ path: String, at mark: YAMLMark) -> String? {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            self.error("a path is missing; write ${file:/path}", at: mark)
            return nil
        }
        guard let bytes = self.bytes(of: self.path(path), limit: DecodingContext.referenceLimit, at: mark) else {
            return nil
        }
        guard var text = String(validating: bytes.withoutByteOrderMark, as: UTF8.self) else {
            self.error("the file \(Scalar.quoted(self.path(path), limit: 4096)) is not UTF-8 text", at: mark)
            return nil
        }
        if text.utf8.last == UInt8(ascii: "\n") { text.unicodeScalars.removeLast() }
        if text.utf8.last == UInt8(ascii: "\r") { text.unicodeScalars.removeLast() }
        guard !text.isEmpty else {
            self.error("the file \(Scalar.quoted(self.path(path))) is empty", at: mark)
            return nil
        }
        return text
    }

    /// The content of a file; nil, and a diagnostic with the reason, if it cannot be read.
    package mutating func bytes(of path: String, limit: Int, at mark: YAMLMark) -> [UInt8]? {
        let shown = Scalar.quoted(path, limit: 4096)
        switch self.content(of: path, limit: limit) {
        case .bytes(let bytes): return bytes
        case .missing: self.error("there is no file \(shown)", at: mark)
        case .unreadable: self.error("the file \(shown) cannot be read; check its owner and mode", at: mark)
        case .tooLarge: self.error("the file \(shown) is larger than \(limit >> 10) KiB", at: mark)
        }
        return nil
    }
}

extension DecodingContext {
    /// Warns of a file with a secret that others can read or change.
    package mutating func warnOfSharedSecret(_ path: String, _ what: String, at mark: YAMLMark) {
        guard let mode = self.mode(of: path) else { return }
        let readers = mode.isReadableByOthers ? "every user of this host can read it" : nil
        guard let risk = mode.otherWriters.map({ "\($0) can change it" }) ?? readers else { return }
        let shown = Scalar.quoted(path, limit: 4096)
        self.warning("\(shown) holds \(what) and has mode \(mode), so \(risk); run: chmod 600 \(shown)", at: mark)
    }
}
