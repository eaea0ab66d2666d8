// SPDX-License-Identifier: Apache-2.0

import GateCore
import GatePolicy
import Testing

/// M-02: rules about claims.
@Suite struct ClaimConditionTests {
    private func entry(_ name: String, _ values: Set<String>) -> AccessEntry {
        .with { $0.claims = [ClaimCondition(name: name, values: values)] }
    }

    private func user(_ claims: [String: ClaimValue]) -> Profile {
        var ada = Profile.ada
        ada.claims = claims
        return ada
    }

    @Test(
        arguments: [
            (.text("ops"), .yes), (.text("Ops"), .no), (.text("ops "), .no), (.number("7"), .yes),
            (.number("7.0"), .no),
            (.flag(true), .yes), (.flag(false), .no), (.list(["a", "ops"]), .yes), (.list(["a"]), .no),
            (.list([]), .no),
        ] as [(ClaimValue, MatchResult)]
    )
    func `a claim has to have one of the values, byte for byte`(value: ClaimValue, expected: MatchResult) {
        #expect(self.entry("d", ["ops", "7", "true"]).match(self.user(["d": value])) == expected)
    }

    @Test func `texts that only look the same are different`() {
        let entry = self.entry("d", ["Zo\u{EB}"])
        #expect(entry.match(self.user(["d": .text("Zoe\u{308}")])) == .no)
        #expect(entry.match(self.user(["d": .text("Zo\u{EB}")])) == .yes)
    }

    @Test func `a claim that is unknown neither admits nor passes a deny`() throws {
        let entry = self.entry("d", ["ops"])
        #expect(entry.match(self.user(["e": .text("ops")])) == .unknown(.claim))
        var route = try Route.to(.entries([entry]))
        #expect(route.decision(for: self.user([:]))?.isAdmission == false)
        #expect(route.decision(for: self.user(["d": .text("ops")]))?.isAdmission == true)
        route.access = .signedIn
        route.denied = [entry]
        #expect(route.decision(for: self.user([:]))?.isAdmission == false)
        #expect(route.decision(for: self.user(["d": .text("ops")]))?.isAdmission == false)
        #expect(route.decision(for: self.user(["d": .text("sales")]))?.isAdmission == true)
        route.denied = []
        route.access = .entries([.with { $0.nested = [.not(entry)] }])
        #expect(route.decision(for: self.user([:]))?.isAdmission == false)
        #expect(route.decision(for: self.user(["d": .text("sales")]))?.isAdmission == true)
    }

    @Test func `all claims of an entry have to match, beside its other conditions`() {
        let entry = AccessEntry.with {
            $0.claims = [ClaimCondition(name: "a", values: ["1"]), ClaimCondition(name: "b", values: ["2"])]
            $0.group = "staff"
        }
        let claims: [String: ClaimValue] = ["a": .text("1"), "b": .text("2")]
        #expect(entry.match(self.user(claims)) == .yes)
        #expect(entry.match(self.user(["a": .text("1"), "b": .text("3")])) == .no)
        #expect(entry.match(self.user(["a": .text("1")])) == .unknown(.claim))
        #expect(entry.match(self.user(["b": .text("3")])) == .no)
        var guest = self.user(claims)
        guest.groups = []
        #expect(entry.match(guest) == .no)
    }

    /// What a rule about claims means, written down from docs/policy.md and not from the program.
    private struct Model {
        let allow: [[String: Set<String>]]
        let deny: [[String: Set<String>]]

        /// True, false, or nil if it depends on a claim that the user does not have.
        private func meets(_ entry: [String: Set<String>], _ claims: [String: ClaimValue]) -> Bool? {
            var isUnknown = false
            for (name, values) in entry {
                guard let value = claims[name] else {
                    isUnknown = true
                    continue
                }
                if !value.texts.contains(where: values.contains) { return false }
            }
            return isUnknown ? nil : true
        }

        func admits(_ claims: [String: ClaimValue]) -> Bool {
            guard self.deny.allSatisfy({ self.meets($0, claims) == false }) else { return false }
            return self.allow.contains { self.meets($0, claims) == true }
        }
    }

    @Test func `rules about claims decide as the documents describe`() throws {
        var random = SystemRandomNumberGenerator()
        let names = ["a", "b", "c"]
        let texts = ["1", "2", "3"]
        func condition() -> [String: Set<String>] {
            let chosen = names.filter { _ in Bool.random(using: &random) }
            let named = chosen.isEmpty ? [names[0]] : chosen
            return Dictionary(
                uniqueKeysWithValues: named.map { name in
                    let values = texts.filter { _ in Bool.random(using: &random) }
                    return (name, Set(values.isEmpty ? [texts[0]] : values))
                }
            )
        }
        func entry(_ condition: [String: Set<String>]) -> AccessEntry {
            .with {
                $0.claims = condition.sorted { $0.key < $1.key }.map { ClaimCondition(name: $0.key, values: $0.value) }
            }
        }
        var admitted = 0
        for _ in 0..<3000 {
            let model = Model(
                allow: (0..<Int.random(in: 1...3, using: &random)).map { _ in condition() },
                deny: (0..<Int.random(in: 0...2, using: &random)).map { _ in condition() }
            )
            var route = try Route.to(.entries(model.allow.map(entry)))
            route.denied = model.deny.map(entry)
            var claims: [String: ClaimValue] = [:]
            for name in names where Int.random(in: 0..<4, using: &random) > 0 {
                let list = texts.filter { _ in Bool.random(using: &random) }
                claims[name] = list.count == 1 ? .text(list[0]) : .list(list)
            }
            let decision = route.decision(for: self.user(claims))?.isAdmission ?? false
            #expect(decision == model.admits(claims), "\(model) \(claims)")
            admitted += decision ? 1 : 0
        }
        #expect(admitted > 300)
    }
}
