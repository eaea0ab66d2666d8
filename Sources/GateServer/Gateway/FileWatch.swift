// SPDX-License-Identifier: Apache-2.0

/// Decides, without looking, when files that have changed are to be read: once they have kept still from one look to the next.
struct FileWatch {
    private var pending: FileStates?

    /// Whether to read now.
    ///
    /// - Parameters:
    ///   - read: The states in which the files were read, also if what was read could not be used.
    ///   - now: The states of the same files at this look.
    /// - Returns: Whether something has changed and kept still since the look before.
    mutating func isTime(read: FileStates, now: FileStates) -> Bool {
        guard now != read else {
            self.pending = nil
            return false
        }
        guard now == self.pending else {
            self.pending = now
            return false
        }
        self.pending = nil
        return true
    }
}
