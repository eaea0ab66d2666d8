// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import GateCore
internal import Synchronization

/// The revoked families whose records are still in the store, because it could not be written.
///
/// They are held in memory and in a preallocated file of this machine, so that neither a full disk nor a store that is gone
/// can restore a session after a restart. The file consists of slots of 32 bytes; a slot of zeros is free.
package final class PendingRevocations: Sendable {
    private struct State {
        var families: Set<[UInt8]> = []
        /// The number of slots of the file in use.
        var slots = 0
        var hasFile = false
    }

    private static let slotBytes = 32
    private static let slotCount = 2048
    private static let fileBytes = slotBytes * slotCount

    private let path: String?
    private let state = Mutex(State())

    /// Reads or creates the file; without one, or if the disk is full, the families are held in memory only.
    package init(path: String?) {
        self.path = path
        guard let path else { return }
        self.state.withLock { state in
            let bytes = (try? PrivateFile.read(path, limit: Self.fileBytes)) ?? []
            for slot in 0..<(bytes.count / Self.slotBytes) {
                let family = Array(bytes[(slot * Self.slotBytes)..<((slot + 1) * Self.slotBytes)])
                guard family.contains(where: { $0 != 0 }) else { continue }
                state.families.insert(family)
                state.slots = slot + 1
            }
            state.hasFile = bytes.count == Self.fileBytes || (state.families.isEmpty && self.makeFile())
        }
    }

    /// The revoked families.
    package var families: Set<[UInt8]> { self.state.withLock { $0.families } }

    /// The number of revoked families.
    package var count: Int { self.state.withLock { $0.families.count } }

    /// Whether a family is revoked.
    package func contains(_ family: [UInt8]) -> Bool { self.state.withLock { $0.families.contains(family) } }

    /// Revokes a family in memory.
    package func insert(_ family: [UInt8]) { self.state.withLock { _ = $0.families.insert(family) } }

    /// Writes a revoked family to the file; false if it is in memory only.
    package func keep(_ family: [UInt8]) -> Bool {
        self.state.withLock { state in
            guard state.hasFile, state.slots < Self.slotCount, family.count == Self.slotBytes else { return false }
            guard self.overwrite(family, at: UInt64(state.slots * Self.slotBytes)) else { return false }
            state.slots += 1
            return true
        }
    }

    /// Removes a family whose records were removed from the database.
    package func remove(_ family: [UInt8]) {
        self.state.withLock { state in
            state.families.remove(family)
            // Slots are freed with the last family only. Removing a family twice after a failure is harmless.
            guard state.families.isEmpty, state.slots > 0 || !state.hasFile else { return }
            let isFree = self.overwrite([UInt8](repeating: 0, count: Self.fileBytes), at: 0)
            state.hasFile = isFree || self.makeFile()
            if state.hasFile { state.slots = 0 }
        }
    }
}

extension PendingRevocations {
    /// Creates the file with all slots free.
    private func makeFile() -> Bool {
        guard let path else { return false }
        return (try? PrivateFile.write([UInt8](repeating: 0, count: Self.fileBytes), to: path)) != nil
    }

    /// Overwrites a part of the file, which needs no more disk space.
    private func overwrite(_ bytes: [UInt8], at offset: UInt64) -> Bool {
        guard let path, let file = FileHandle(forUpdatingAtPath: path) else { return false }
        do {
            try file.seek(toOffset: offset)
            try file.write(contentsOf: Data(bytes))
            try file.synchronize()
            try file.close()
            return true
        } catch {
            return false
        }
    }
}
