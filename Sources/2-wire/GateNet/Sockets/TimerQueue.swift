// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Scheduled work, ordered by deadline; confined to one loop.
struct TimerQueue {
    private struct Entry {
        let deadline: NIODeadline
        let id: UInt64

        func comes(before other: Entry) -> Bool {
            self.deadline == other.deadline ? self.id < other.id : self.deadline < other.deadline
        }
    }

    /// A binary heap; the first entry always has work, others may have been cancelled.
    private var heap: [Entry] = []
    /// The scheduled closures, each called once: with true when due, with false when the loop shuts down before.
    private var work: [UInt64: (Bool) -> Void] = [:]

    /// When the next work is due; nil if nothing is scheduled.
    var nextDeadline: NIODeadline? { self.heap.first?.deadline }

    /// Schedules work under a unique `id`.
    mutating func insert(_ id: UInt64, at deadline: NIODeadline, _ body: @escaping (Bool) -> Void) {
        self.work[id] = body
        self.heap.append(Entry(deadline: deadline, id: id))
        var child = self.heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard self.heap[child].comes(before: self.heap[parent]) else { return }
            self.heap.swapAt(child, parent)
            child = parent
        }
    }

    /// Cancels work that has not run.
    mutating func cancel(_ id: UInt64) {
        self.work[id] = nil
        self.dropCancelled()
    }

    /// Removes and returns the next work that is due; the caller runs it.
    mutating func due(at now: NIODeadline) -> ((Bool) -> Void)? {
        guard let first = self.heap.first, first.deadline <= now else { return nil }
        defer { self.dropCancelled() }
        return self.work.removeValue(forKey: first.id)
    }

    /// Drops everything.
    ///
    /// - Returns: The work that has not run; the caller calls it.
    mutating func removeAll() -> [(Bool) -> Void] {
        defer { self = TimerQueue() }
        return Array(self.work.values)
    }

    /// Keeps an entry with work first, so that asking for the next deadline, twice a turn, needs no look-up.
    private mutating func dropCancelled() {
        while let first = self.heap.first, self.work[first.id] == nil { self.removeFirst() }
    }

    private mutating func removeFirst() {
        self.heap.swapAt(0, self.heap.count - 1)
        self.heap.removeLast()
        var parent = 0
        while true {
            var earliest = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < self.heap.count && self.heap[child].comes(before: self.heap[earliest]) {
                earliest = child
            }
            guard earliest != parent else { return }
            self.heap.swapAt(parent, earliest)
            parent = earliest
        }
    }
}
