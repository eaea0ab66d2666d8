// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Families of sessions to which something has happened lately; confined to one event loop.
///
/// A look-up in the store that began before must not bring back what was. Each family is remembered for a time at least,
/// and twice that at most; unless something happens to very many: then for as long as it takes 65,536, which is still longer
/// than a look-up may take.
package struct RecentFamilies {
    private static let most = 65_536

    private let time: TimeAmount
    // Two sets that take turns, so that nothing need be searched for what is old.
    private var latest: Set<[UInt8]> = []
    private var earlier: Set<[UInt8]> = []
    private var since = NIODeadline.distantPast

    /// None yet.
    package init(for time: TimeAmount) {
        self.time = time
    }

    /// Whether a family is remembered.
    package func contains(_ family: [UInt8], now: NIODeadline) -> Bool {
        let age = now - self.since
        return (age < self.time * 2 && self.latest.contains(family))
            || (age < self.time && self.earlier.contains(family))
    }

    /// Takes note of one.
    package mutating func insert(_ family: [UInt8], now: NIODeadline) {
        if self.latest.count >= RecentFamilies.most || self.since < now - self.time {
            self.earlier = self.latest
            self.latest = []
            self.since = now
        }
        self.latest.insert(family)
    }
}
