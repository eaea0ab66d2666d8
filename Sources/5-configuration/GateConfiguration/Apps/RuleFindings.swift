// SPDX-License-Identifier: Apache-2.0

internal import GateCore
package import GatePolicy
package import GateYAML

/// Finds rules of an app without effect: those that another one includes, and those that a denial makes unreachable.
package struct RuleFindings {
    private let allowed: [AccessEntry]
    private let denied: [AccessEntry]
    private let app: String

    /// How many entries are compared with each other in a file, which bounds the time; the rules of further apps are left out.
    package static let maxComparisons = 1_000_000

    package init(of route: Route) {
        self.allowed = route.access.entries
        self.denied = route.denied
        self.app = route.app
    }

    /// How many entries have to be compared with each other.
    package var comparisons: Int {
        self.allowed.count * (self.allowed.count + self.denied.count) + self.denied.count * self.denied.count
    }

    /// Warns of each finding at the later rule, with the line of the other.
    package func report(_ reading: inout DecodingContext) {
        for (index, entry) in self.allowed.enumerated() {
            if let denial = self.denied.first(where: { $0.includes(entry) }) {
                let message = "this entry admits no user, since 'deny' in \(self.line(of: denial, from: entry)) matches"
                self.warn("\(message) whenever it does", entry, &reading)
            } else if let wider = self.wider(than: entry, at: index, in: self.allowed, isAllowing: true) {
                let line = self.line(of: wider, from: entry)
                self.warn("this entry has no effect, since \(line) admits every user that it matches", entry, &reading)
            }
        }
        for (index, entry) in self.denied.enumerated() {
            guard let wider = self.wider(than: entry, at: index, in: self.denied, isAllowing: false) else { continue }
            let line = self.line(of: wider, from: entry)
            self.warn("this entry has no effect, since \(line) denies every user that it matches", entry, &reading)
        }
        for entry in self.allowed + self.denied where entry.isContradictory {
            self.warn("this entry can never match; one of its conditions excludes another", entry, &reading)
        }
    }

    /// An entry of the list that matches whenever another one does; of equal ones, the first.
    private func wider(
        than entry: AccessEntry,
        at index: Int,
        in list: [AccessEntry],
        isAllowing: Bool
    ) -> AccessEntry? {
        let found = list.enumerated().first { other in
            guard other.offset != index, other.element.includes(entry) else { return false }
            guard !isAllowing || other.element.needsNoMoreProof(than: entry) else { return false }
            return other.offset < index || !entry.includes(other.element)
        }
        return found?.element
    }

    private func line(of other: AccessEntry, from entry: AccessEntry) -> String {
        guard let place = other.place else { return "another one" }
        return place.file == entry.place?.file ? "line \(place.line)" : "\(place)"
    }

    private func warn(_ message: String, _ entry: AccessEntry, _ reading: inout DecodingContext) {
        guard let place = entry.place, let mark = reading.mark(of: place) else { return }
        reading.warning("in '\(self.app)', \(message)", at: mark)
    }
}

extension AccessEntry {
    /// Whether the entry matches whenever another one does; false if that is not known.
    fileprivate func includes(_ other: AccessEntry) -> Bool {
        guard self.provider == nil || self.provider == other.provider || self.provider == other.userProvider else {
            return false
        }
        guard self.user == nil || self.user == other.user, self.email == nil || self.email == other.email else {
            return false
        }
        guard self.emailDomain == nil || self.emailDomain == (other.emailDomain ?? other.email?.domain) else {
            return false
        }
        guard self.group == nil || self.group == other.group, self.role == nil || self.role == other.role,
            self.tenant == nil || self.tenant == other.tenant,
            self.organization == nil || self.organization == other.organization,
            self.claims.allSatisfy({ own in other.claims.contains { own.includes($0) } })
        else { return false }
        return self.request.allSatisfy { own in other.request.contains { own.includes($0) } }
            && self.nested.allSatisfy(other.nested.contains)
    }

    private var userProvider: String? { self.user.map { String($0.prefix { $0 != ":" }) } }

    /// Whether the provider has to be the authority for email addresses in no more cases than another entry requires.
    fileprivate func needsNoMoreProof(than other: AccessEntry) -> Bool {
        self.email == nil && self.emailDomain == nil || self.authorities.isSubset(of: other.authorities)
    }

    /// Whether the entry excludes what it requires.
    fileprivate var isContradictory: Bool {
        let excluded = self.nested.contains { nested in
            guard case .not(let entry) = nested else { return false }
            return entry.includes(self.withoutNested)
        }
        let methods = self.request.compactMap { condition -> [String]? in
            guard case .method(let methods) = condition else { return nil }
            return methods
        }
        let inner = self.nested.flatMap { nested -> [AccessEntry] in
            guard case .all(let entries) = nested else { return [] }
            return entries
        }
        let all = inner.flatMap(\.request).compactMap { condition -> [String]? in
            guard case .method(let methods) = condition else { return nil }
            return methods
        }
        let providers = Set(([self] + inner).compactMap { $0.provider ?? $0.userProvider })
        let isWithoutMethod =
            (methods + all).count > 1
            && (methods + all).map(Set.init).reduce(nil) { known, next in
                known.map { $0.intersection(next) } ?? next
            }.map(\.isEmpty) ?? false
        let isNever = Self.isWithoutTime(self.request + inner.flatMap(\.request))
        return excluded || isWithoutMethod || isNever || providers.count > 1
    }

    /// Whether conditions on the date leave no time between them.
    private static func isWithoutTime(_ conditions: [RequestCondition]) -> Bool {
        let starts = conditions.compactMap { condition -> Instant? in
            guard case .from(let start) = condition else { return nil }
            return start
        }
        let ends = conditions.compactMap { condition -> Instant? in
            guard case .until(let end) = condition else { return nil }
            return end
        }
        guard let start = starts.max(), let end = ends.min() else { return false }
        return end <= start
    }

    private var withoutNested: AccessEntry {
        var entry = self
        entry.nested = []
        return entry
    }
}

extension RequestCondition {
    /// Whether every request that meets another condition meets this one; false if that is not known.
    fileprivate func includes(_ other: RequestCondition) -> Bool {
        switch (self, other) {
        case (.path(let own), .path(let others)):
            others.allSatisfy { other in own.contains { $0.includes(other) } }
        case (.method(let own), .method(let others)): Set(others).isSubset(of: own)
        case (.network(let own), .network(let others)):
            others.allSatisfy { other in own.contains { $0.includes(other) } }
        case (.mcpMethod(let own), .mcpMethod(let others)), (.mcpTool(let own), .mcpTool(let others)),
            (.scope(let own), .scope(let others)):
            Set(others).isSubset(of: own)
        case (.certificate(let own), .certificate(let other)): own.includes(other)
        case (.authenticated(let own), .authenticated(let other)): other <= own
        case (.passkey(let own), .passkey(let other)): own.map { own in other.map { $0 <= own } ?? false } ?? true
        case (.time(let own), .time(let other)): own == other
        case (.from(let own), .from(let other)): own <= other
        case (.until(let own), .until(let other)): other <= own
        default: false
        }
    }
}
