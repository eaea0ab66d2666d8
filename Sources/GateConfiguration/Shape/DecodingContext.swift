// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// One pass over a file: what it may look at and what there is to say so far.
struct DecodingContext {
    /// The most diagnostics that are shown.
    static let shownDiagnostics = 100
    /// The most bytes that `${file:}` may bring.
    static let referenceLimit = 64 << 10
    /// The most bytes of a certificate or key file.
    static let certificateLimit = 1 << 20

    private struct Remark: Hashable {
        let severity: Diagnostic.Severity
        let message: String
        let mark: YAMLMark
    }

    private let name: String
    private let folder: String
    private let environment: [String: String]
    private let access: FileAccess
    private let lines: SourceLines
    private var remarks: Set<Remark> = []
    private var unlisted = 0
    private var hintsLeft = 200
    private var mask = SecretMask()
    private var known: Set<String> = []
    /// How many errors there are.
    private(set) var errors = 0
    /// The files that were asked for, in that order.
    private(set) var files: [String] = []

    init(bytes: [UInt8], name: String, folder: String, environment: [String: String], access: FileAccess) {
        self.name = name
        self.folder = folder
        self.environment = environment
        self.access = access
        self.lines = SourceLines(bytes)
    }

    /// Notes that the file cannot be used.
    mutating func error(_ message: String, at mark: YAMLMark) {
        self.note(Remark(severity: .error, message: message, mark: mark))
    }

    /// Notes that something is likely not meant.
    mutating func warning(_ message: String, at mark: YAMLMark) {
        self.note(Remark(severity: .warning, message: message, mark: mark))
    }

    /// `; did you mean 'x'?`, or nothing if no name is near.
    mutating func hint(for text: String, in names: some Sequence<String>) -> String {
        self.nearest(to: text, in: names).map { "; did you mean '\($0)'?" } ?? ""
    }

    /// The name that was probably meant; gives up after 200 questions, since nobody reads more answers.
    mutating func nearest(to text: String, in names: some Sequence<String>) -> String? {
        guard self.hintsLeft > 0 else { return nil }
        self.hintsLeft -= 1
        return Hint.nearest(to: text, in: names)
    }

    /// Keeps a node out of every source line that is shown; a reference says nothing, so it stays.
    mutating func conceal(_ node: YAMLNode) {
        switch node.content {
        case .scalar(let text, _):
            guard !text.hasPrefix("${") else { return }
            self.mask.conceal(from: node.mark, to: node.end)
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
    func variable(_ name: String) -> String? {
        self.environment[name]
    }

    /// An absolute path for a path in the file, taken from the folder of the file.
    func path(_ text: String) -> String {
        FileAccess.resolve(text, in: self.folder)
    }

    /// Reads a file that decides what the configuration is, and notes it as one to watch.
    mutating func content(of path: String, limit: Int) -> FileAccess.Outcome {
        if self.known.insert(path).inserted { self.files.append(path) }
        return self.access.read(path, limit: limit)
    }

    /// Who may read and change a file; nil if that is not known.
    func mode(of path: String) -> FileMode? { self.access.mode(of: path) }

    private mutating func note(_ remark: Remark) {
        guard self.remarks.count < 10_000 else {
            if remark.severity == .error { self.errors += 1 }
            self.unlisted += 1
            return
        }
        guard self.remarks.insert(remark).inserted, remark.severity == .error else { return }
        self.errors += 1
    }

    /// What there is to say, by place: at most 100, and a line that counts the rest.
    ///
    /// When not all fit, errors come before warnings.
    var diagnostics: [Diagnostic] {
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
        let place = Diagnostic.Location(file: self.name, line: remark.mark.line, column: remark.mark.column)
        let source = self.lines.text(ofLine: remark.mark.line).map { self.mask.applied(to: $0, line: remark.mark.line) }
        return Diagnostic(remark.severity, remark.message, at: place, source: source)
    }
}
