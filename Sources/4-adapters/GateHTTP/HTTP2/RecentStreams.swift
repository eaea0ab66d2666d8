// SPDX-License-Identifier: Apache-2.0

/// The numbers of recently closed streams, bounded.
struct RecentStreams {
    private static let capacity = 128
    private var numbers: [Int32] = []
    private var next = 0

    /// Adds a number; the oldest is dropped at capacity.
    mutating func insert(_ number: Int32) {
        if self.numbers.count < RecentStreams.capacity {
            self.numbers.append(number)
        } else {
            self.numbers[self.next] = number
            self.next = (self.next + 1) % RecentStreams.capacity
        }
    }

    /// Whether a stream closed recently.
    func contains(_ number: Int32) -> Bool { self.numbers.contains(number) }
}
