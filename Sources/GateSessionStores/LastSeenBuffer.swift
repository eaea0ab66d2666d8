// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import GRDB
internal import GateCore
internal import Synchronization

/// The last uses of sessions that the database does not have yet.
///
/// They are collected and written together, over a connection of their own, so that no look-up and no sign-in waits for
/// them. While the database cannot be written they are kept and count as if they were in it.
final class LastSeenBuffer: Sendable {
    private struct State {
        var waiting: [[UInt8]: Instant] = [:]
        /// Those of the write in progress.
        var writing: [[UInt8]: Instant] = [:]
        var isScheduled = false
        var isClosed = false
    }

    /// How many sessions are remembered; of more, the use is noted again a minute later.
    private static let capacity = 100_000
    /// How many are written in one transaction, so that other writers get their turn.
    private static let batch = 500
    private static let pace = Duration.seconds(1)
    private static let paceAfterFailure = Duration.seconds(5)

    private let state = Mutex(State())
    private let connection: DatabaseQueue

    /// Collects for the database of a connection.
    init(_ connection: DatabaseQueue) {
        self.connection = connection
    }

    /// Notes that a session was used; it is written within seconds.
    func note(_ key: [UInt8], at instant: Instant) {
        let isFirst = self.state.withLock { state in
            guard !state.isClosed else { return false }
            guard state.waiting.count < LastSeenBuffer.capacity || state.waiting[key] != nil else { return false }
            state.waiting[key] = max(instant, state.waiting[key] ?? instant)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if isFirst { self.schedule(after: LastSeenBuffer.pace) }
    }

    /// The last use of a session that is not written yet; nil if there is none.
    func lastUse(of key: [UInt8]) -> Instant? {
        self.state.withLock { state in
            guard !state.waiting.isEmpty || !state.writing.isEmpty else { return nil }
            return [state.waiting[key], state.writing[key]].compactMap(\.self).max()
        }
    }

    /// Writes all that waits; what cannot be written waits on.
    ///
    /// - Returns: Whether everything is written.
    @discardableResult
    func flush() async -> Bool {
        while true {
            switch self.next() {
            case .batch(let batch):
                guard await self.write(batch) else { return false }
            case .otherWrite:
                // The connection does one thing after the other, so this one ends after that one.
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
                state.waiting.merge(state.writing) { max($0, $1) }
                state.writing = [:]
            }
            return false
        }
    }

    /// Writes what waits a last time and takes no more.
    func close() async {
        self.state.withLock { $0.isClosed = true }
        await self.flush()
        try? self.connection.close()
    }
}

extension LastSeenBuffer {
    private func schedule(after pace: Duration) {
        Task {
            try? await Task.sleep(for: pace)
            let isWritten = await self.flush()
            let isDone = self.state.withLock { state in
                let isDone = state.waiting.isEmpty || state.isClosed
                if isDone { state.isScheduled = false }
                return isDone
            }
            if !isDone { self.schedule(after: isWritten ? LastSeenBuffer.pace : LastSeenBuffer.paceAfterFailure) }
        }
    }

    /// What a flush has to do next.
    private enum Step {
        case batch([(key: [UInt8], seen: Instant)])
        /// Another flush writes.
        case otherWrite
        case nothing
    }

    /// Moves some of what waits to what is being written.
    private func next() -> Step {
        self.state.withLock { state in
            guard state.writing.isEmpty else { return .otherWrite }
            guard !state.waiting.isEmpty else { return .nothing }
            let batch = state.waiting.prefix(LastSeenBuffer.batch)
            for (key, seen) in batch {
                state.writing[key] = seen
                state.waiting[key] = nil
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
