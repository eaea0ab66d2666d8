// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// A head that has arrived in part.
package struct UnfinishedHead {
    /// When its first byte arrived.
    package let since: NIODeadline
    /// How many bytes it holds.
    package let bytes: Int
}

/// A connection on which heads arrive; confined to its event loop.
package protocol HeadReader: AnyObject {
    /// The head that has arrived in part; nil while no head is unfinished.
    var unfinishedHead: UnfinishedHead? { get }

    /// Rejects the request whose head has arrived in part, and closes the connection.
    func rejectUnfinishedHead()
}

/// Bounds the bytes of all unfinished heads of one event loop, whatever the number of connections and clients; confined to
/// that loop.
///
/// Connections are noted when a read leaves a head unfinished. That a head is complete shows only when the limit is
/// reached, so that requests whose heads arrive in one piece cost nothing here.
package final class UnfinishedHeads {
    private var noted: [ObjectIdentifier: (reader: any HeadReader, bytes: Int)] = [:]
    /// The bytes of the noted heads, of those among them too that are complete by now.
    private var bytes = 0
    /// How many bytes all of them may hold.
    package var limit: Int

    /// Bounds the heads to `limit` bytes.
    package init(limit: Int = .max) { self.limit = limit }

    /// Notes that a connection holds a part of a head, or more of it.
    package func note(_ reader: any HeadReader) {
        guard let head = reader.unfinishedHead else { return }
        let id = ObjectIdentifier(reader)
        self.bytes += head.bytes - (self.noted[id]?.bytes ?? 0)
        self.noted[id] = (reader, head.bytes)
        if self.bytes > self.limit { self.shrink() }
    }

    /// Forgets a connection that is closed.
    package func forget(_ reader: any HeadReader) {
        guard !self.noted.isEmpty, let entry = self.noted.removeValue(forKey: ObjectIdentifier(reader)) else { return }
        self.bytes -= entry.bytes
    }

    /// Forgets complete heads.
    ///
    /// If that is not enough, rejects those that have been arriving longest until an eighth of the limit is free, so that a
    /// flood does not sort them for each head.
    private func shrink() {
        var unfinished = self.noted.values.compactMap { entry in
            entry.reader.unfinishedHead.map { (reader: entry.reader, head: $0) }
        }
        self.bytes = unfinished.reduce(0) { $0 + $1.head.bytes }
        var rejected: [any HeadReader] = []
        if self.bytes > self.limit {
            // The newest first, so that the oldest are taken off the end.
            unfinished.sort { $0.head.since > $1.head.since }
            while self.bytes > self.limit / 8 * 7, let oldest = unfinished.popLast() {
                self.bytes -= oldest.head.bytes
                rejected.append(oldest.reader)
            }
        }
        self.noted = [:]
        for (reader, head) in unfinished { self.noted[ObjectIdentifier(reader)] = (reader, head.bytes) }
        for reader in rejected {
            reader.rejectUnfinishedHead()
        }
    }
}
