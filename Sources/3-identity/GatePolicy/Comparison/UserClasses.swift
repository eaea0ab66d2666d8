// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Users, those together about whom no rule of two configurations can decide differently.
///
/// A class is kept once, with a profile that has only what the rules name. An index leads from each named fact to the
/// classes that have it, so that the users of an app are divided by the few facts that the app names: a user who has
/// none of them costs nothing.
struct UserClasses: Sendable {
    /// Users with the same facts.
    struct Class: Sendable {
        /// The profile of one of them, without names.
        let profile: Profile
        /// The user keys of some.
        fileprivate(set) var examples: [String] = []
    }

    /// The classes of one app: those that its rules distinguish.
    struct Partition: Sendable {
        /// For each class the number of its part.
        fileprivate(set) var partOf: [Int32]
        /// How many users each part has.
        fileprivate(set) var counts: [Int]
        /// A class of each part.
        fileprivate(set) var samples: [Int]
    }

    private struct Key: Hashable {
        let basis: Int32
        let facts: [Int32]
    }

    private let now: Instant
    /// How many user keys a class keeps.
    private let maxExamples: Int
    private var numbers: [UserFact: Int32] = [:]
    private var limits: [(limit: Duration, number: Int32)] = []
    /// The classes that have a fact, by its number.
    private var classesWith: [[Int32]] = []
    private var bases: [FactBasis: Int32] = [:]
    private var indexes: [Key: Int32] = [:]
    private(set) var classes: [Class] = []
    /// How many users each class has, apart from the classes since every partition looks at them.
    private var sizes: [Int] = []
    /// By their bases only, as for an app that names nothing.
    private var byBasis = Partition(partOf: [], counts: [], samples: [])
    /// How many users there are.
    private(set) var count = 0

    /// No users, for rules about these entries.
    init(for entries: some Sequence<AccessEntry>, examples: Int, at now: Instant) {
        self.now = now
        self.maxExamples = examples
        for fact in entries.flatMap(UserFact.named) where self.numbers[fact] == nil {
            let number = Int32(self.classesWith.count)
            self.numbers[fact] = number
            self.classesWith.append([])
            if case .authenticated(let limit) = fact { self.limits.append((limit, number)) }
        }
    }

    /// How many users the classes have that `isChosen` is true for.
    func count(of isChosen: [Bool]) -> Int { zip(isChosen, self.sizes).reduce(0) { $0 + ($1.0 ? $1.1 : 0) } }

    mutating func add(_ profile: Profile) {
        let (kept, facts) = self.reduced(profile)
        let basis = FactBasis(of: kept)
        let base = self.bases[basis] ?? Int32(self.bases.count)
        let key = Key(basis: base, facts: facts.sorted())
        let index = self.indexes[key] ?? Int32(self.classes.count)
        if Int(index) == self.classes.count {
            self.indexes[key] = index
            self.classes.append(Class(profile: kept))
            self.sizes.append(0)
            for fact in key.facts { self.classesWith[Int(fact)].append(index) }
            if Int(base) == self.bases.count {
                self.bases[basis] = base
                self.byBasis.counts.append(0)
                self.byBasis.samples.append(Int(index))
            }
            self.byBasis.partOf.append(base)
        }
        self.count += 1
        self.byBasis.counts[Int(base)] += 1
        self.sizes[Int(index)] += 1
        if self.classes[Int(index)].examples.count < self.maxExamples {
            self.classes[Int(index)].examples.append(profile.user)
        }
    }

    /// A profile without what no rule names, and the facts of it that a rule names.
    private func reduced(_ profile: Profile) -> (Profile, Set<Int32>) {
        var kept = Profile(provider: profile.provider, issuer: "", subject: profile.subject)
        var facts: Set<Int32> = []
        func isNamed(_ fact: UserFact) -> Bool {
            guard let number = self.numbers[fact] else { return false }
            facts.insert(number)
            return true
        }
        _ = isNamed(.user(ExactText(profile.user)))
        kept.email = profile.email
        kept.emailVerified = profile.emailVerified
        kept.emailAuthoritative = profile.emailAuthoritative
        if let email = profile.verifiedEmail {
            _ = isNamed(.email(email))
            _ = isNamed(.emailDomain(ExactText(email.domain)))
        }
        kept.groups = profile.groups.filter { isNamed(.group(ExactText($0))) }
        kept.groupsComplete = profile.groupsComplete
        kept.groupsRequested = profile.groupsRequested?.filter { self.numbers[.group(ExactText($0))] != nil }
        kept.roles = profile.roles.filter { isNamed(.role(ExactText($0))) }
        kept.rolesComplete = profile.rolesComplete
        kept.tenant = profile.tenant
        if let tenant = profile.tenant { _ = isNamed(.tenant(ExactText(tenant))) }
        for (name, value) in profile.claims where isNamed(.hasClaim(ExactText(name))) {
            kept.claims[name] = value
            for text in value.texts { _ = isNamed(.claim(ExactText(name), ExactText(text))) }
        }
        kept.authTime = profile.authTime
        if let time = profile.authTime {
            for (limit, number) in self.limits where self.now.since(time) <= limit { facts.insert(number) }
        }
        return (kept, facts)
    }

    /// The users as some entries distinguish them.
    ///
    /// Costs time for the users who have one of the facts that the entries name, and a copy of one number for each class.
    func partition(for entries: some Sequence<AccessEntry>) -> Partition {
        var result = self.byBasis
        let facts = Set(entries.flatMap(UserFact.named).compactMap { self.numbers[$0] })
        // For each part, the part of those that also have the fact, and the fact for which that holds.
        var halves = [Int32](repeating: 0, count: result.counts.count)
        var halvedBy = [Int32](repeating: -1, count: result.counts.count)
        for fact in facts.sorted() {
            for member in self.classesWith[Int(fact)] {
                let part = Int(result.partOf[Int(member)])
                if halvedBy[part] != fact {
                    (halvedBy[part], halves[part]) = (fact, Int32(result.counts.count))
                    result.counts.append(0)
                    result.samples.append(Int(member))
                    halves.append(0)
                    halvedBy.append(-1)
                }
                let half = halves[part]
                result.partOf[Int(member)] = half
                result.counts[part] -= self.sizes[Int(member)]
                result.counts[Int(half)] += self.sizes[Int(member)]
                if result.samples[part] == Int(member) { result.samples[part] = -1 }
            }
        }
        self.findSamples(of: &result)
        return result
    }

    /// Finds a class for each part whose own one has gone to another part.
    private func findSamples(of partition: inout Partition) {
        for part in partition.samples.indices {
            let sample = partition.samples[part]
            if sample < 0 || partition.partOf[sample] != part { partition.samples[part] = -1 }
        }
        guard partition.samples.indices.contains(where: { partition.samples[$0] < 0 && partition.counts[$0] > 0 })
        else { return }
        for (index, part) in partition.partOf.enumerated() where partition.samples[Int(part)] < 0 {
            partition.samples[Int(part)] = index
        }
    }
}
