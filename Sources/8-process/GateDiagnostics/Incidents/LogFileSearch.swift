// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import GateCore

/// Searches log files for an incident or a request, in pieces, so that their size does not matter.
package struct LogFileSearch {
    /// Where lines come from.
    package enum Source: Sendable, Hashable {
        case file(String)
        /// Standard input, which is read once.
        case standardInput

        /// Its name, printable.
        package var name: String {
            switch self {
            case .file(let path): PrintableText.escaped(path)
            case .standardInput: "standard input"
            }
        }
    }

    /// What one file has led to.
    package struct Outcome: Sendable {
        /// The file.
        package let source: Source
        /// How many lines were found.
        package fileprivate(set) var found = 0
        /// How many bytes it has.
        package fileprivate(set) var size = 0
        /// The times of its first and its last line; nil where those are not lines of the gateway.
        package fileprivate(set) var first, last: String?
        /// Why it could not be searched; nil if it was.
        package fileprivate(set) var failure: String?
    }

    /// The most lines that are kept.
    static let maxLines = 200
    /// How many bytes are read at a time.
    private static let piece = 1 << 20

    /// What was found, with the file of each line.
    private(set) var found: [(source: Source, entry: LogEntry)] = []
    /// What each file has led to.
    package private(set) var outcomes: [Outcome] = []
    /// Whether there are more lines than are kept.
    package private(set) var hasMore = false

    /// Searches files for the lines that name an incident or a request by its id, and then for the other lines of the same
    /// requests.
    package init(for id: String, in sources: [Source]) {
        for source in sources { self.outcomes.append(self.search(source, for: [id])) }
        let requests = Set(self.found.compactMap { $0.entry.values["request"] }).subtracting([id])
        guard !requests.isEmpty else { return }
        let known = self.found
        self.found = []
        for source in sources where source != .standardInput {
            let outcome = self.search(source, for: requests.union([id]))
            guard let index = self.outcomes.firstIndex(where: { $0.source == source }) else { continue }
            self.outcomes[index].found = max(outcome.found, self.outcomes[index].found)
        }
        // Standard input was read once, and a file may have been rotated meanwhile.
        let again = Set(self.found.map(\.source))
        self.found += known.filter { !again.contains($0.source) }
    }

    private mutating func search(_ source: Source, for ids: Set<String>) -> Outcome {
        var outcome = Outcome(source: source)
        var scanner = LineScanner(for: ids)
        var lines: [LogEntry] = []
        do {
            let file = try LogFileSearch.open(source)
            var isFirst = true
            while let piece = try file.read(upToCount: LogFileSearch.piece), !piece.isEmpty {
                let bytes = [UInt8](piece)
                if isFirst, let hint = LogFileSearch.compression(of: bytes) {
                    outcome.failure = hint
                    return outcome
                }
                isFirst = false
                scanner.take(bytes) { lines += LogFileSearch.entry($0, of: ids) }
                // Of a flood, the latest lines are those that matter.
                if lines.count > 2 * LogFileSearch.maxLines { lines.removeFirst(LogFileSearch.maxLines) }
            }
            scanner.end { lines += LogFileSearch.entry($0, of: ids) }
        } catch {
            outcome.failure = PrintableText.escaped(error.localizedDescription)
            return outcome
        }
        outcome.size = scanner.size
        outcome.first = scanner.first.flatMap { LogEntry($0) }?.time
        outcome.last = scanner.last.flatMap { LogEntry($0) }?.time
        outcome.found = lines.count
        let space = max(0, LogFileSearch.maxLines - self.found.count)
        if lines.count > space { self.hasMore = true }
        self.found += lines.suffix(space).map { (source, $0) }
        return outcome
    }

    /// The entry of a line if one of the ids is the value of `incident` or `request`; elsewhere it means nothing.
    private static func entry(_ line: [UInt8], of ids: Set<String>) -> [LogEntry] {
        guard let entry = LogEntry(line) else { return [] }
        let named = [entry.values["incident"], entry.values["request"]].compactMap(\.self)
        return named.contains(where: ids.contains) ? [entry] : []
    }

    private static func open(_ source: Source) throws -> FileHandle {
        switch source {
        case .file(let path): try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        case .standardInput: FileHandle.standardInput
        }
    }

    /// What to do with a compressed file; nil if it is not compressed.
    private static func compression(of bytes: [UInt8]) -> String? {
        let kinds: [(start: [UInt8], program: String)] = [
            ([0x1F, 0x8B], "zcat"), ([0x28, 0xB5, 0x2F, 0xFD], "zstdcat"), ([0xFD, 0x37, 0x7A, 0x58, 0x5A], "xzcat"),
            (Array("BZh".utf8), "bzcat"),
        ]
        return kinds.first { bytes.starts(with: $0.start) }.map { kind in
            "it is compressed; pass its lines on with: \(kind.program) FILE | gatehouse explain ID --log -"
        }
    }
}
