// SPDX-License-Identifier: Apache-2.0

/// The numbers of streams that ended lately, in bounded room.
struct RecentStreams {
    private static let capacity = 128
    private var numbers: [Int32] = []
    private var next = 0

    /// Takes note of one; the oldest is forgotten when there is no more room.
    mutating func insert(_ number: Int32) {
        if self.numbers.count < RecentStreams.capacity {
            self.numbers.append(number)
        } else {
            self.numbers[self.next] = number
            self.next = (self.next + 1) % RecentStreams.capacity
        }
    }

    /// Whether one ended lately.
    func contains(_ number: Int32) -> Bool { self.numbers.contains(number) }
}
