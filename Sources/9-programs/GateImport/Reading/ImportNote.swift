// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// A line of a file that is imported.
package struct ImportPlace: Sendable, Hashable {
    /// The file as the user named it.
    package let file: String
    /// The line, from 1.
    package let line: Int

    /// Makes a place; lines count from 1.
    package init(file: String, line: Int) {
        self.file = file
        self.line = line
    }
}

/// Something that an import carried over in another form, or not at all.
package struct ImportNote: Sendable, Hashable {
    /// How much it matters.
    package enum Severity: String, Sendable {
        /// Nothing is lost, or only what has no meaning here.
        case note
        /// Something is missing in the result or differs from before.
        case warning
    }

    /// How much it matters.
    package let severity: Severity
    /// Where it is; nil for what concerns the import as a whole.
    package let place: ImportPlace?
    /// What it is and what to do.
    package let message: String

    /// `file:line: severity: message`.
    package var rendered: String {
        let prefix = self.place.map { "\(PrintableText.escaped($0.file, limit: 4096)):\($0.line): " } ?? ""
        return "\(prefix)\(self.severity.rawValue): \(self.message)"
    }

    /// The same for programs.
    package var json: JSON {
        var members: [String: JSON] = ["severity": .string(self.severity.rawValue), "message": .string(self.message)]
        if let place { members["file"] = .string(place.file) }
        if let place { members["line"] = .int(Int64(place.line)) }
        return .object(members)
    }
}

/// Why nothing can be imported.
package struct ImportFailure: Error, Sendable, Hashable {
    /// The reason and what to do.
    package let message: String
    /// Where it is, if it has a place.
    package let place: ImportPlace?

    package init(_ message: String, at place: ImportPlace? = nil) {
        self.message = message
        self.place = place
    }

    /// `file:line: error: message`.
    package var rendered: String {
        let prefix = self.place.map { "\(PrintableText.escaped($0.file, limit: 4096)):\($0.line): " } ?? "gatehouse: "
        return "\(prefix)error: \(self.message)"
    }
}

/// The notes of one import, each once, at most 1000.
struct ImportNotes: Sendable {
    static let limit = 1000

    private var list: [ImportNote] = []
    private var known: Set<ImportNote> = []
    private var omitted = 0

    /// Adds a note: nothing is lost.
    mutating func note(_ message: String, at place: ImportPlace?) {
        self.add(ImportNote(severity: .note, place: place, message: message))
    }

    /// Adds a warning: something is missing or differs.
    mutating func warning(_ message: String, at place: ImportPlace?) {
        self.add(ImportNote(severity: .warning, place: place, message: message))
    }

    private mutating func add(_ note: ImportNote) {
        guard self.list.count < ImportNotes.limit else {
            self.omitted += 1
            return
        }
        if self.known.insert(note).inserted { self.list.append(note) }
    }

    /// The notes by file, in the order of `files`, and line; those without a place come last.
    func sorted(files: [String]) -> [ImportNote] {
        let order = Dictionary(files.enumerated().map { ($1, $0) }) { first, _ in first }
        func rank(_ note: ImportNote) -> (Int, Int) {
            (note.place.map { order[$0.file] ?? files.count } ?? files.count + 1, note.place?.line ?? 0)
        }
        let sorted = self.list.enumerated().sorted { (rank($0.element), $0.offset) < (rank($1.element), $1.offset) }
        guard self.omitted > 0 else { return sorted.map(\.element) }
        let rest = ImportNote(severity: .warning, place: nil, message: "\(self.omitted) more are not shown")
        return sorted.map(\.element) + [rest]
    }
}

/// Compares pairs of pairs.
private func < (left: ((Int, Int), Int), right: ((Int, Int), Int)) -> Bool {
    (left.0.0, left.0.1, left.1) < (right.0.0, right.0.1, right.1)
}
