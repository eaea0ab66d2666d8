// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// Compares what two configurations decide about users.
///
/// Users are added one after the other, in any order; only their facts that a rule names are kept. Then each app whose rules
/// differ is asked about one user of each class that it distinguishes, and about sample requests.
package struct PolicyComparison: Sendable {
    /// The maximum number of users.
    package static let maxUsers = 1_000_000
    /// How many rows an app has at most.
    private static let maxRows = 50
    /// How many different rows are counted for an app at most.
    private static let maxCountedRows = 10_000

    private let pairs: [(old: AppRules?, new: AppRules?)]
    private let tables: (old: AppTable, new: AppTable)
    private let sameApps: Int
    private let now: Instant
    private let examples: Int
    private var users: UserClasses

    /// Without users yet.
    ///
    /// - Parameters:
    ///   - old: The apps of the configuration in force.
    ///   - new: The apps of the other one.
    ///   - examples: How many users are named for each change.
    ///   - now: The time.
    package init(old: [AppRules], new: [AppRules], examples: Int, at now: Instant) {
        let byName = Dictionary(new.map { ($0.route.app, $0) }) { first, _ in first }
        let names = Set(old.map(\.route.app))
        let all: [(old: AppRules?, new: AppRules?)] =
            old.map { ($0, byName[$0.route.app]) } + new.filter { !names.contains($0.route.app) }.map { (nil, $0) }
        self.pairs = all.filter { pair in
            guard let old = pair.old, let new = pair.new else { return true }
            return !old.decidesAs(new) || old.route.origins != new.route.origins
        }
        self.sameApps = all.count - self.pairs.count
        self.tables = (AppTable(old), AppTable(new))
        self.now = now
        self.examples = examples
        let entries = self.pairs.flatMap { ($0.old?.entries ?? []) + ($0.new?.entries ?? []) }
        self.users = UserClasses(for: entries, examples: examples, at: now)
    }

    /// Whether no app can have another decision, whatever the users are.
    package var isTrivial: Bool { self.pairs.isEmpty }

    /// Adds a user; false if there are too many.
    package mutating func add(_ profile: Profile) -> Bool {
        guard self.users.count < PolicyComparison.maxUsers else { return false }
        self.users.add(profile)
        return true
    }

    /// The difference for the users that were added.
    ///
    /// - Parameter isOver: Called before each app; true ends the comparison.
    /// - Returns: The difference; nil if it was ended before.
    package func difference(until isOver: () -> Bool = { false }) -> PolicyDifference? {
        var difference = PolicyDifference()
        difference.users = self.users.count
        difference.sameApps = self.sameApps
        var isChanged = [Bool](repeating: false, count: self.users.classes.count)
        var times = WindowTimes(now: self.now)
        for pair in self.pairs {
            guard !isOver() else { return nil }
            let app = self.app(pair, times: &times, isChanged: &isChanged)
            if app.isReported { difference.apps.append(app) } else { difference.sameApps += 1 }
        }
        difference.apps = difference.apps.filter { $0.losers > 0 } + difference.apps.filter { $0.losers == 0 }
        difference.changedUsers = self.users.count(of: isChanged)
        return difference
    }

    private func app(
        _ pair: (old: AppRules?, new: AppRules?),
        times: inout WindowTimes,
        isChanged: inout [Bool]
    ) -> PolicyDifference.App {
        let (old, new) = (pair.old?.route, pair.new?.route)
        let name = new?.app ?? old?.app ?? ""
        var app = PolicyDifference.App(name: name, kind: old == nil ? .added : new == nil ? .removed : .changed)
        if let old, let new {
            app.providers = old.providers == new.providers ? nil : (old.providers, new.providers)
            app.isMoved = old.origins != new.origins || old.path != new.path
        }
        let samples = RequestSamples(of: (old, new), times: &times) { path in
            self.tables.old.isElsewhere(path, for: old) || self.tables.new.isElsewhere(path, for: new)
        }
        app.isPartial = samples.isPartial
        let partition = self.users.partition(for: (pair.old?.entries ?? []) + (pair.new?.entries ?? []))
        var tally = Tally(samples: samples.all)
        for part in partition.counts.indices where partition.counts[part] > 0 {
            let profile = self.users.classes[partition.samples[part]].profile
            let result = self.result(of: pair, profile, samples.all)
            tally.add(result, part: part, users: partition.counts[part], to: &app)
        }
        let anonymous = self.result(of: pair, nil, samples.all)
        self.addExamples(to: &tally, partition, isChanged: &isChanged)
        tally.add(anonymous, part: nil, users: 0, to: &app)
        app.rows = tally.rows(limit: PolicyComparison.maxRows)
        app.omittedRows = tally.rowCount - app.rows.count
        return app
    }

    /// What changes for a user, or for clients without a session.
    private func result(
        of pair: (old: AppRules?, new: AppRules?),
        _ profile: Profile?,
        _ samples: [RequestSample]
    ) -> UserResult {
        let old = VerdictSource(pair.old, profile: profile, now: self.now)
        let new = VerdictSource(pair.new, profile: profile, now: self.now)
        let isOne = old.isFinal && new.isFinal
        var result = UserResult(isAnonymous: profile == nil)
        for (index, sample) in (isOne ? samples.prefix(1) : samples[...]).enumerated() {
            let verdicts = (
                old: old.verdict(on: sample, path: sample.oldPath), new: new.verdict(on: sample, path: sample.path)
            )
            result.add(verdicts, sample: index)
        }
        return result
    }

    /// Names some users in the rows of their parts, and marks the classes whose users gain or lose.
    private func addExamples(to tally: inout Tally, _ partition: UserClasses.Partition, isChanged: inout [Bool]) {
        guard tally.hasUsers else { return }
        // By position: there are as many classes as users, and this is done for each app.
        let isAffected = partition.counts.indices.map(tally.isAffected)
        for (index, part) in partition.partOf.enumerated() where isAffected[Int(part)] {
            isChanged[index] = isChanged[index] || tally.isChanged(Int(part))
            tally.name(self.users.classes[index].examples, part: Int(part), limit: self.examples)
        }
    }

    /// The rows of one app while they are counted.
    private struct Tally {
        private let samples: [RequestSample]
        private var rows: [PolicyDifference.Row] = []
        private var indexes: [UserResult.Key: Int] = [:]
        /// The rows that each part of the users is in.
        private var rowsOf: [Int: [Int]] = [:]
        private var changed: Set<Int> = []
        private(set) var rowCount = 0

        init(samples: [RequestSample]) {
            self.samples = samples
        }

        var hasUsers: Bool { !self.rowsOf.isEmpty }

        mutating func add(_ result: UserResult, part: Int?, users: Int, to app: inout PolicyDifference.App) {
            if result.hadAccess { app.holders += users }
            if result.changes.contains(.lose) { app.losers += users }
            if result.changes.contains(.gain) { app.gainers += users }
            if result.changes.contains(.renew) { app.renewals += users }
            if result.changes.contains(.relax) { app.relaxations += users }
            for (key, requests) in result.rows {
                guard let first = requests.first, let index = self.index(of: key, first: first) else { continue }
                self.rows[index].users += users
                self.rows[index].requests = max(self.rows[index].requests, requests.count)
                guard let part else { continue }
                self.rowsOf[part, default: []].append(index)
                if key.change == .lose || key.change == .gain { self.changed.insert(part) }
            }
        }

        private mutating func index(of key: UserResult.Key, first: Int) -> Int? {
            if let known = self.indexes[key] { return known }
            self.rowCount += 1
            guard self.rows.count < PolicyComparison.maxCountedRows else { return nil }
            self.indexes[key] = self.rows.count
            self.rows.append(
                PolicyDifference.Row(
                    change: key.change,
                    isAnonymous: key.isAnonymous,
                    old: key.old,
                    new: key.new,
                    request: self.samples[first]
                )
            )
            return self.rows.count - 1
        }

        func isAffected(_ part: Int) -> Bool { self.rowsOf[part] != nil }
        func isChanged(_ part: Int) -> Bool { self.changed.contains(part) }

        mutating func name(_ users: [String], part: Int, limit: Int) {
            for row in self.rowsOf[part] ?? [] {
                let free = limit - self.rows[row].examples.count
                if free > 0 { self.rows[row].examples += users.prefix(free) }
            }
        }

        /// The rows, losses before gains, each with the most users first.
        func rows(limit: Int) -> [PolicyDifference.Row] {
            let order = PolicyDifference.Change.allCases
            let sorted = order.flatMap { change in
                self.rows.filter { $0.change == change }.enumerated().sorted {
                    ($0.element.users, $1.offset) > ($1.element.users, $0.offset)
                }.map(\.element)
            }
            return Array(sorted.prefix(limit))
        }
    }
}

/// What changes for one user about one app.
private struct UserResult {
    struct Key: Hashable {
        let change: PolicyDifference.Change
        let isAnonymous: Bool
        let old: Verdict
        let new: Verdict
    }

    private let isAnonymous: Bool
    /// The changes by verdicts, each with the requests for which it is so, in the order of the requests.
    private(set) var rows: [(key: Key, requests: [Int])] = []
    private(set) var changes: Set<PolicyDifference.Change> = []
    /// Whether the old rules admit the user to anything.
    private(set) var hadAccess = false

    init(isAnonymous: Bool) {
        self.isAnonymous = isAnonymous
    }

    mutating func add(_ verdicts: (old: Verdict, new: Verdict), sample: Int) {
        let (old, new) = verdicts
        self.hadAccess = self.hadAccess || old.admitsUser
        let change: PolicyDifference.Change
        switch (old.grantsAccess, new.grantsAccess) {
        case (true, false): change = .lose
        case (false, true): change = .gain
        case (true, true) where old.decision?.isAdmission ?? false && new.decision?.isAdmission == false:
            change = .renew
        case (true, true) where old.decision?.isAdmission == false && new.decision?.isAdmission ?? false:
            change = .relax
        case (true, true), (false, false): return
        }
        if change == .lose { self.hadAccess = true }
        self.changes.insert(change)
        let key = Key(change: change, isAnonymous: self.isAnonymous, old: old, new: new)
        if let index = self.rows.firstIndex(where: { $0.key == key }) {
            self.rows[index].requests.append(sample)
        } else {
            self.rows.append((key, [sample]))
        }
    }
}

/// Where the requests of a configuration lead to.
private struct AppTable: Sendable {
    private let names: [String]
    private let routes: RouteTable

    init(_ apps: [AppRules]) {
        self.names = apps.map(\.route.app)
        self.routes = RouteTable(apps.map { ($0.route.origins.hosts, $0.route.path) })
    }

    /// Whether a path of an app leads to another one, whose prefix is longer.
    func isElsewhere(_ path: String, for route: Route?) -> Bool {
        guard let route, let pattern = route.origins.hosts.first else { return false }
        let host =
            switch pattern {
            case .exact(let host): host
            case .wildcard(let domain): "x.\(domain)"
            }
        guard let entry = self.routes.entry(host: host, path: Array(path.utf8).span) else { return false }
        return self.names[entry] != route.app
    }
}
