// SPDX-License-Identifier: Apache-2.0

import GateCore
import GatePolicy
import Testing

@Suite struct RequiredGroupsTests {
    private func route(_ share: GroupShare, allow: String, deny: String? = nil) throws -> Route {
        var route = try Route.to(.entries([.with { $0.group = allow }]))
        route.groups = share
        route.denied = deny.map { group in [.with { $0.group = group }] } ?? []
        return route
    }

    private func person(_ groups: [String]) -> Profile {
        var person = Profile.ada
        person.groups = groups
        return person
    }

    @Test func `only groups that rules name are kept when no app is told of the others`() throws {
        let demand = RequiredGroups(of: "google", routes: [try self.route(.named, allow: "staff", deny: "guests")])
        var person = self.person(["a", "guests", "staff", "z"])
        #expect(demand.keep(in: &person) == 0)
        #expect(person.groups == ["guests", "staff"])
        #expect(person.groupsRequested == ["guests", "staff"])
        #expect(person.isOutside(group: "a") == false)
    }

    @Test func `one app that is told of all groups is enough to keep them`() throws {
        let routes = [try self.route(.named, allow: "staff"), try self.route(.all, allow: "board")]
        var person = self.person(["a", "staff"])
        #expect(RequiredGroups(of: "google", routes: routes).keep(in: &person) == 0)
        #expect(person.groups == ["a", "staff"] && person.groupsRequested == nil)
        #expect(person.isOutside(group: "board"))
    }

    @Test func `what is over the budget is cut and counted, but no group that a rule names`() throws {
        let many = (0..<1000).map { "group-\($0)-" + String(repeating: "x", count: 90) }
        let demand = RequiredGroups(of: "google", routes: [try self.route(.all, allow: "zz-last")])
        var person = self.person(many + ["zz-last"])
        let cut = demand.keep(in: &person)
        #expect(person.groups.last == "zz-last")
        #expect(person.groups.dropLast().reduce(0) { $0 + $1.utf8.count + 1 } <= RequiredGroups.budget)
        #expect(cut > 0 && person.groups.count + cut == 1001)
        #expect(person.groupsRequested == ["zz-last"])
    }

    @Test func `what is escaped in a header counts as what it is there`() throws {
        let demand = RequiredGroups(of: "google", routes: [try self.route(.all, allow: "staff")])
        var person = self.person((0..<100).map { "\($0)" + String(repeating: "%", count: 50) })
        _ = demand.keep(in: &person)
        #expect(person.groups.count == RequiredGroups.budget / (2 + 3 * 50 + 1))
    }

    @Test func `roles have a bound too`() throws {
        let demand = RequiredGroups(of: "google", routes: [try self.route(.all, allow: "staff")])
        var person = self.person([])
        person.roles = (0..<4300).map { "role-\($0)-" + String(repeating: "x", count: 40) }
        _ = demand.keep(in: &person)
        #expect(person.roles.reduce(0) { $0 + $1.utf8.count } <= RequiredGroups.roleBudget && person.roles.count > 200)
    }

    @Test func `apps that do not accept the provider need nothing of it`() throws {
        let demand = RequiredGroups(of: "github", routes: [try self.route(.all, allow: "staff")])
        #expect(demand.isEmpty)
    }

    @Test func `groups that nothing needs are not worth a look-up`() throws {
        var route = try Route.to(.signedIn)
        route.groups = .named
        #expect(RequiredGroups(of: "google", routes: [route]).isEmpty)
        route.groups = .all
        #expect(!RequiredGroups(of: "google", routes: [route]).isEmpty)
    }

    @Test func `an app that is told of named groups only hears of no other`() throws {
        let person = self.person(["a", "staff"])
        #expect(try self.route(.named, allow: "staff").sharedGroups(of: person) == ["staff"])
        #expect(try self.route(.all, allow: "staff").sharedGroups(of: person) == ["a", "staff"])
    }
}
