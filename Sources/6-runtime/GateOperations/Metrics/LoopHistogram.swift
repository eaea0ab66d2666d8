// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// A histogram of durations that only one event loop fills and any thread reads.
package final class LoopHistogram: Sendable {
    /// How often an exemplar is kept; more would cost the hot path without showing more.
    private static let exemplarInterval: Int64 = 1_000_000_000

    private let buckets = InlineArray<16, Atomic<Int64>> { _ in Atomic(0) }
    private let sum = Atomic<Int64>(0)
    /// Monotonic time from which the next duration becomes an exemplar.
    private let nextExemplar = Atomic<Int64>(.min)
    private let exemplars = Mutex<[Int: Exemplar]>([:])

    package init() {}

    /// Records a duration; called on its loop only.
    ///
    /// - Parameters:
    ///   - nanoseconds: The duration.
    ///   - now: Monotonic time in nanoseconds.
    ///   - request: The id of the request and of its trace if that is exported, asked for at most once a second.
    package func record(_ nanoseconds: Int64, at now: Int64, request: () -> (id: String, trace: String?)) {
        let index = DurationBuckets.index(of: nanoseconds)
        self.buckets[index].store(self.buckets[index].load(ordering: .relaxed) &+ 1, ordering: .relaxed)
        self.sum.store(self.sum.load(ordering: .relaxed) &+ nanoseconds, ordering: .relaxed)
        guard now >= self.nextExemplar.load(ordering: .relaxed) else { return }
        self.nextExemplar.store(now + LoopHistogram.exemplarInterval, ordering: .relaxed)
        let (id, trace) = request()
        let exemplar = Exemplar(request: id, trace: trace, nanoseconds: nanoseconds)
        self.exemplars.withLock { $0[index] = exemplar }
    }

    func add(to snapshot: inout HistogramSnapshot) {
        for index in 0..<DurationBuckets.count {
            snapshot.counts[index] += self.buckets[index].load(ordering: .relaxed)
        }
        snapshot.sum += self.sum.load(ordering: .relaxed)
        snapshot.exemplars.merge(self.exemplars.withLock { $0 }) { _, new in new }
    }
}

/// One observation of a bucket, with the request that it was.
struct Exemplar: Sendable {
    let request: String
    let trace: String?
    let nanoseconds: Int64
}

/// The content of a histogram at one time.
struct HistogramSnapshot: Sendable {
    /// By bucket, not cumulative.
    var counts = [Int64](repeating: 0, count: DurationBuckets.count)
    /// Nanoseconds.
    var sum: Int64 = 0
    var exemplars: [Int: Exemplar] = [:]
}

/// The bounds of all histograms of durations: from half a millisecond to a minute.
enum DurationBuckets {
    /// The upper bounds in nanoseconds; a last bucket has none.
    static let bounds: [Int64] = [
        500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000, 100_000_000, 250_000_000,
        500_000_000, 1_000_000_000, 2_500_000_000, 5_000_000_000, 10_000_000_000, 60_000_000_000,
    ]
    /// How many buckets there are.
    static let count = 16
    /// The values of the label `le`.
    static let labels = bounds.map { "\(Double($0) / 1e9)" } + ["+Inf"]

    static func index(of nanoseconds: Int64) -> Int {
        var index = 0
        while index < DurationBuckets.bounds.count, nanoseconds > DurationBuckets.bounds[index] { index += 1 }
        return index
    }
}
