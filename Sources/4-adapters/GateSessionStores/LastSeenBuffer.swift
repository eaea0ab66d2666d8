// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import GRDB
internal import GateCore
internal import Synchronization

/// Buffers the last uses of sessions that are not in the database yet.
///
/// They are written in batches over a separate connection, so that no look-up and no sign-in waits for them. While the
/// database cannot be written they stay in the buffer and look-ups take them into account.
final class LastSeenBuffer: Sendable {
    private struct State {
        var pending: [[UInt8]: Instant] = [:]
        /// The uses of the write in progress.
        var writing: [[UInt8]: Instant] = [:]
        var isScheduled = false
        var isClosed = false
    }

    /// The maximum number of buffered sessions; others are recorded again a minute later.
    private static let capacity = 100_000
    /// The maximum number of uses in one transaction, so that other writers are not delayed.
    private static let batch = 500
    private static let interval = Duration.seconds(1)
    private static let retryInterval = Duration.seconds(5)

    private let state = Mutex(State())
    private let connection: DatabaseQueue

    /// A buffer for the database of a connection.
    init(_ connection: DatabaseQueue) {
        self.connection = connection
    }

    /// Records that a session was used; it is written within seconds.
    func note(_ key: [UInt8], at instant: Instant) {
        let isFirst = self.state.withLock { state in
            guard !state.isClosed else { return false }
            guard state.pending.count < LastSeenBuffer.capacity || state.pending[key] != nil else { return false }
            state.pending[key] = max(instant, state.pending[key] ?? instant)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if isFirst { self.schedule(after: LastSeenBuffer.interval) }
    }

    /// The last use of a session that is not written yet, or nil.
    func lastUse(of key: [UInt8]) -> Instant? {
        self.state.withLock { state in
            guard !state.pending.isEmpty || !state.writing.isEmpty else { return nil }
            return [state.pending[key], state.writing[key]].compactMap(\.self).max()
        }
    }

    /// Writes all pending uses; they stay pending if that fails.
    ///
    /// - Returns: Whether everything is written.
    @discardableResult
    func flush() async -> Bool {
        while true {
            switch self.next() {
            case .batch(let batch):
                guard await self.write(batch) else { return false }
            case .otherWrite:
                // The connection runs one access at a time, so this one ends after that write.
                try? await self.connection.read { _ in }
                await Task.yield()
            case .nothing:
                return true
            }
        }
    }

    private func write(_ batch: [(key: [UInt8], seen: Instant)]) async -> Bool {
        do {
            try await self.connection.write { database in try LastSeenBuffer.write(batch, to: database) }
            self.state.withLock { $0.writing = [:] }
            return true
        } catch {
            self.state.withLock { state in
                state.pending.merge(state.writing) { max($0, $1) }
                state.writing = [:]
            }
            return false
        }
    }

    /// Writes the pending uses a last time and records no more.
    func close() async {
        self.state.withLock { $0.isClosed = true }
        await self.flush()
        try? self.connection.close()
    }
}

extension LastSeenBuffer {
    private func schedule(after delay: Duration) {
        Task {
            try? await Task.sleep(for: delay)
            let isWritten = await self.flush()
            let isDone = self.state.withLock { state in
                let isDone = state.pending.isEmpty || state.isClosed
                if isDone { state.isScheduled = false }
                return isDone
            }
            if !isDone { self.schedule(after: isWritten ? LastSeenBuffer.interval : LastSeenBuffer.retryInterval) }
        }
    }

    /// The next step of a flush.
    private enum Step {
        case batch([(key: [UInt8], seen: Instant)])
        /// Another flush is writing.
        case otherWrite
        case nothing
    }

    /// Moves a batch of pending uses to the write in progress.
    private func next() -> Step {
        self.state.withLock { state in
            guard state.writing.isEmpty else { return .otherWrite }
            guard !state.pending.isEmpty else { return .nothing }
            let batch = state.pending.prefix(LastSeenBuffer.batch)
            for (key, seen) in batch {
                state.writing[key] = seen
                state.pending[key] = nil
            }
            return .batch(batch.map { (key: $0.key, seen: $0.value) })
        }
    }

    private static func write(_ uses: [(key: [UInt8], seen: Instant)], to database: Database) throws {
        let update = try database.cachedStatement(sql: "UPDATE session SET seen = max(seen, ?) WHERE key = ?")
        for use in uses {
            try update.execute(arguments: [use.seen.seconds, Data(use.key)])
        }
    }
}
