// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import GateCore

/// What differs between two states of a file.
///
/// Comparing this instead of waiting for events also finds secrets that Kubernetes replaces through symlinks.
struct FileFingerprint: Equatable, Sendable {
    /// Nil if there is no such file.
    private let state: FileState?
    private let isKnown: Bool

    /// The state of the file that a path leads to, its links followed.
    init(of path: String) {
        // Not by way of `FileManager`, which also reads the names of owner and group from their files: twice a second,
        // for each file of the configuration.
        self.state = PrivateFile.state(of: path)
        self.isKnown = true
    }

    private init() {
        self.state = nil
        self.isKnown = false
    }

    /// What no file has.
    static let unknown = FileFingerprint()

    /// Whether the file was written, and not replaced by another one, since it was in an earlier state.
    ///
    /// So was a file that has been made since: its writer may be in the middle.
    func isWrittenInPlace(since earlier: FileFingerprint) -> Bool {
        guard let state, self != earlier else { return false }
        return earlier.state.map { state.isSameFile(as: $0) } ?? true
    }

    /// Whether the file was changed at or after a moment.
    func isChanged(since moment: Date) -> Bool {
        self.state?.isModified(since: moment.timeIntervalSince1970) ?? false
    }
}

/// The states in which the files of a configuration were when it was read.
///
/// Taken before the files are read, so that a change meanwhile is noticed afterwards, and kept with the configuration, so that
/// files that were reloaded by a signal are not reloaded again.
struct FileStates: Equatable, Sendable {
    private(set) var states: [String: FileFingerprint]

    /// The states of files now.
    init(of files: [String]) {
        self.states = Dictionary(files.map { ($0, FileFingerprint(of: $0)) }) { first, _ in first }
    }

    /// These states, extended to the files that the reading turned out to need.
    ///
    /// - Parameters:
    ///   - files: All that was read.
    ///   - began: When the reading began; a file that is new to us and younger than that may have been read before it changed,
    ///     so its state counts as unknown.
    /// - Returns: The states in which all that was read was.
    func extended(to files: [String], readSince began: Date) -> FileStates {
        var all = FileStates(of: files)
        for (file, state) in all.states {
            if let known = self.states[file] {
                all.states[file] = known
            } else if state.isChanged(since: began) {
                all.states[file] = .unknown
            }
        }
        return all
    }

    /// Whether one of the files was written in place since earlier states of them.
    func isWrittenInPlace(since earlier: FileStates) -> Bool {
        self.states.contains { file, state in
            earlier.states[file].map { state.isWrittenInPlace(since: $0) } ?? true
        }
    }

    /// The same files as they are now.
    var now: FileStates { FileStates(of: Array(self.states.keys)) }
}
