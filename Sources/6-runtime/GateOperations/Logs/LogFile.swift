// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import Synchronization

/// A file that log lines are appended to; a renamed or deleted one is opened again under its name.
final class LogFile: LogOutput {
    private struct State {
        var output: OutputDescriptor
        /// The file that was opened.
        var file: FileState?
        var looked = ContinuousClock.now
    }

    private let path: String
    private let state: Mutex<State>

    /// Opens the end of a file.
    ///
    /// - Throws: `file.unusable` with the path and the reason.
    init(_ path: String) throws(Failure) {
        self.path = path
        let output = try OutputDescriptor.appending(to: path)
        self.state = Mutex(State(output: output, file: PrivateFile.state(of: path)))
    }

    deinit {
        self.state.withLock { $0.output }.close()
    }

    func write(_ lines: LogBatch) throws(WriteFailure) {
        if self.isTimeToLook, self.hasMoved { self.reopen() }
        try self.state.withLock { $0.output }.write(lines.bytes)
    }

    /// Opens the file again; the one that is open stays in use if that fails.
    func reopen() {
        guard let output = try? OutputDescriptor.appending(to: self.path) else { return }
        let file = PrivateFile.state(of: self.path)
        self.state.withLock { state in
            state.output.close()
            state.output = output
            state.file = file
        }
    }

    /// Once a second is often enough, and costs nothing.
    private var isTimeToLook: Bool {
        self.state.withLock { state in
            guard state.looked.duration(to: .now) >= .seconds(1) else { return false }
            state.looked = .now
            return true
        }
    }

    private var hasMoved: Bool {
        guard let file = self.state.withLock({ $0.file }) else { return true }
        return PrivateFile.state(of: self.path)?.isSameFile(as: file) != true
    }
}
