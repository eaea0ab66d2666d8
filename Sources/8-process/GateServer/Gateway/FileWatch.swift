// SPDX-License-Identifier: Apache-2.0

/// Decides, without looking, when files that have changed are to be read: once all of them have kept still for long enough.
///
/// A file that was replaced with rename(2) is whole. One that is written in place may be in the middle of it, and a pause of its
/// writer looks like its end.
struct FileWatch {
    /// How often the files are looked at.
    static let interval = Duration.milliseconds(500)

    /// For how long files have to keep still.
    enum Stillness {
        /// All that has changed was replaced.
        static let replaced = Duration.milliseconds(500)
        /// A file was written in place.
        static let written = Duration.seconds(3)
        /// A file was written in place, and what it has now takes an app or changes its rules.
        static let doubtful = Duration.seconds(10)
    }

    /// The files that have changed, for how many looks they have kept still, and whether one was written in place.
    private var pending: (states: FileStates, looks: Int, isWritten: Bool)?

    /// Whether to read now.
    ///
    /// - Parameters:
    ///   - read: The states in which the files were read, also if what was read could not be used.
    ///   - now: The states of the same files at this look.
    ///   - doubtful: The states in which the files were read and not used yet, since they may be in the middle of a change.
    /// - Returns: Whether something has changed and kept still for long enough.
    mutating func isTime(read: FileStates, now: FileStates, doubtful: FileStates? = nil) -> Bool {
        guard now != read else {
            self.pending = nil
            return false
        }
        guard let (states, looks, isWritten) = self.pending, states == now else {
            // Compared with the look before: a file that is replaced twice may get the number of the first one again.
            let isWritten = now.isWrittenInPlace(since: self.pending?.states ?? read)
            self.pending = (now, 0, isWritten || self.pending?.isWritten ?? false)
            return false
        }
        let needed = now == doubtful ? Stillness.doubtful : isWritten ? Stillness.written : Stillness.replaced
        guard FileWatch.interval * (looks + 1) >= needed else {
            self.pending = (states, looks + 1, isWritten)
            return false
        }
        self.pending = nil
        return true
    }
}
