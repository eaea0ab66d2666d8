// SPDX-License-Identifier: Apache-2.0

/// Decides, without doing, which sign-ins call a provider now, which wait, and which are rejected.
///
/// A sign-in makes one call after the other, so each holds one slot from its first call to its last, and there are as many
/// slots as connections. Without this, the calls of all sign-ins wait for each other until each has waited too long, and
/// none succeeds. Times are monotonic.
struct SlotQueue: Sendable {
    /// What becomes of a sign-in that arrives.
    enum Arrival: Equatable {
        /// It has a slot.
        case enters
        /// It waits for one.
        case waits
        /// It could not be served in time; the time is how long it should stay away.
        case rejected(Duration)
    }

    /// How long a sign-in may wait for a slot.
    static let patience = Duration.seconds(10)
    /// How much the last sign-in counts for the expected time.
    private static let weight = 0.2

    private struct Waiting {
        let ticket: UInt64
        let deadline: Duration
    }

    private let slots: Int
    /// When those that have a slot got it.
    private(set) var active: [UInt64: Duration] = [:]
    /// Those that wait, the first in front.
    private var waiting: [Waiting] = []
    /// How long sign-ins held their slots; nil before the first.
    private var average: Double?

    init(slots: Int) {
        self.slots = max(1, slots)
    }

    /// How many wait.
    var waitingCount: Int { self.waiting.count }

    /// A sign-in wants a slot.
    mutating func arrive(_ ticket: UInt64, at now: Duration) -> Arrival {
        guard self.active.count >= self.slots else {
            self.active[ticket] = now
            return .enters
        }
        let wait = self.forecast(at: now).wait(behind: self.waiting.count)
        guard wait <= SlotQueue.patience else { return .rejected(wait - SlotQueue.patience) }
        self.waiting.append(Waiting(ticket: ticket, deadline: now + SlotQueue.patience))
        return .waits
    }

    /// A sign-in gives its slot back, or does not wait any longer; gives the one that has the slot now.
    mutating func release(_ ticket: UInt64, at now: Duration) -> UInt64? {
        guard let began = self.active.removeValue(forKey: ticket) else {
            self.waiting.removeAll { $0.ticket == ticket }
            return nil
        }
        let held = (now - began) / .seconds(1)
        self.average = self.average.map { $0 + (held - $0) * SlotQueue.weight } ?? held
        guard !self.waiting.isEmpty else { return nil }
        let next = self.waiting.removeFirst()
        self.active[next.ticket] = now
        return next.ticket
    }

    /// Removes those that will not get a slot in time; called now and then while some wait.
    mutating func rejectLate(at now: Duration) -> [(ticket: UInt64, wait: Duration)] {
        let forecast = self.forecast(at: now)
        var rejected: [(ticket: UInt64, wait: Duration)] = []
        var kept: [Waiting] = []
        for one in self.waiting {
            let wait = forecast.wait(behind: kept.count)
            if now + wait > one.deadline || now >= one.deadline {
                rejected.append((one.ticket, max(now + wait - one.deadline, .seconds(1))))
            } else {
                kept.append(one)
            }
        }
        self.waiting = kept
        return rejected
    }

    /// When slots will be free, estimated from the sign-ins so far.
    private func forecast(at now: Duration) -> Forecast {
        let ages = self.active.values.map { (now - $0) / .seconds(1) }.sorted()
        let median = ages.isEmpty ? 0 : ages[ages.count / 2]
        let usual = self.average ?? 0
        // One that has taken longer than usual may end at any time.
        let rests = ages.map { max(usual - $0, 0) }.sorted()
        // Half of those that are not done have taken that long already, so a single one that hangs does not count.
        return Forecast(rests: rests, held: max(usual, median))
    }
}

/// How long those that wait would wait, in seconds.
private struct Forecast {
    /// How long the slots will still be held, the shortest first.
    let rests: [Double]
    /// How long each sign-in after that holds its slot.
    let held: Double

    func wait(behind count: Int) -> Duration {
        guard !self.rests.isEmpty else { return .zero }
        let rounds = Double(count / self.rests.count)
        return .seconds(self.rests[count % self.rests.count] + rounds * self.held)
    }
}
