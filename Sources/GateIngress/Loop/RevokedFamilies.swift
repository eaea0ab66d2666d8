// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Families of sessions that have ended lately; confined to one event loop.
///
/// A look-up in the store that began before the end must not bring a session back. Each family is remembered for a minute
/// at least, unless very many end: then for as long as it takes 65,536 to end, which is still longer than a look-up may take.
struct RevokedFamilies {
    private static let time = TimeAmount.seconds(60)
    private static let most = 65_536

    // Two sets that take turns, so that nothing need be searched for what is old.
    private var latest: Set<[UInt8]> = []
    private var earlier: Set<[UInt8]> = []
    private var since = NIODeadline.distantPast

    /// Whether a family has ended lately.
    func contains(_ family: [UInt8]) -> Bool {
        self.latest.contains(family) || self.earlier.contains(family)
    }

    /// Takes note of one.
    mutating func insert(_ family: [UInt8], now: NIODeadline) {
        if self.latest.count >= RevokedFamilies.most || self.since < now - RevokedFamilies.time {
            self.earlier = self.latest
            self.latest = []
            self.since = now
        }
        self.latest.insert(family)
    }
}
