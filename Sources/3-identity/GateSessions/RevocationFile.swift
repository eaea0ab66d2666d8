// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// The file of this machine with the revoked families whose records are still in a store.
///
/// It consists of 2048 slots of 32 bytes; a slot of zeros is free. Several stores may use it at once: those before and after a
/// reload, and those of a gateway that drains and of the next one. So each call works on the content, under a lock, and
/// leaves the slots of other families alone. Each call blocks its thread.
struct RevocationFile: Sendable {
    private static let slotBytes = 32
    private static let slotCount = 2048
    private static let fileBytes = slotBytes * slotCount

    private let path: String

    /// The file at a path, which is created if it is missing, while the disk has space for it.
    init(path: String) {
        self.path = path
        _ = try? PrivateFile.update(path, size: Self.fileBytes) { _ in () }
    }

    /// The families in the file; nil if it cannot be read.
    func families() -> Set<[UInt8]>? {
        // A longer one is not ours alone, but its slots count.
        guard let found = try? PrivateFile.read(self.path, limit: 16 * Self.fileBytes) else { return nil }
        let bytes = Array(found.prefix(Self.fileBytes))
        // Nearly always; it is read every second, and without an exit from the loop several bytes are looked at together.
        guard bytes.reduce(0, |) != 0 else { return [] }
        return Set(Self.slots(of: bytes).filter { Self.isUsed($0, in: bytes) }.map { Array(bytes[$0]) })
    }

    /// Writes families into free slots, as far as there are any; returns those that are in the file now.
    func add(_ families: Set<[UInt8]>) -> Set<[UInt8]> {
        let added = try? PrivateFile.update(self.path, size: Self.fileBytes) { bytes in
            var found: Set<[UInt8]> = []
            var free: [Range<Int>] = []
            for slot in Self.slots(of: bytes) {
                if Self.isUsed(slot, in: bytes) { found.insert(Array(bytes[slot])) } else { free.append(slot) }
            }
            let missing = families.subtracting(found).filter { $0.count == Self.slotBytes }
            for (family, slot) in zip(missing, free) {
                bytes.replaceSubrange(slot, with: family)
                found.insert(family)
            }
            return families.intersection(found)
        }
        return added ?? []
    }

    /// Frees the slots of some families; false if that failed.
    func free(_ families: Set<[UInt8]>) -> Bool {
        let isFreed: Void? = try? PrivateFile.update(self.path, size: Self.fileBytes) { bytes in
            for slot in Self.slots(of: bytes) where families.contains(Array(bytes[slot])) {
                bytes.replaceSubrange(slot, with: [UInt8](repeating: 0, count: Self.slotBytes))
            }
        }
        return isFreed != nil
    }

    private static func slots(of bytes: [UInt8]) -> [Range<Int>] {
        (0..<(bytes.count / self.slotBytes)).map { ($0 * self.slotBytes)..<(($0 + 1) * self.slotBytes) }
    }

    private static func isUsed(_ slot: Range<Int>, in bytes: [UInt8]) -> Bool { bytes[slot].contains { $0 != 0 } }
}
