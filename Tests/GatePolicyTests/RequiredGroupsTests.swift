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

    private func profile(_ groups: [String]) -> Profile {
        var profile = Profile.ada
        profile.groups = groups
        return profile
    }

    @Test func `only groups that rules name are kept if no app receives others`() throws {
        let required = RequiredGroups(of: "google", routes: [try self.route(.named, allow: "staff", deny: "guests")])
        var profile = self.profile(["a", "guests", "staff", "z"])
        #expect(required.keep(in: &profile) == 0)
        #expect(profile.groups == ["guests", "staff"])
        #expect(profile.groupsRequested == ["guests", "staff"])
        #expect(profile.isOutside(group: "a") == false)
    }

    @Test func `an organization is kept of the providers whose groups are organizations, and looked up there only`()
        throws
    {
        var route = try Route.to(
            .entries([
                .with {
                    $0.organization = "acme"
                    $0.organizationsFrom = ["github"]
                }
            ])
        )
        route.groups = .named
        route.providers = ["github", "google"]
        #expect(RequiredGroups(of: "google", routes: [route]).isEmpty)
        var profile = Profile(provider: "github", issuer: "https://id.example", subject: "1")
        profile.groups = ["acme", "acme/platform", "other"]
        #expect(RequiredGroups(of: "github", routes: [route]).keep(in: &profile) == 0)
        #expect(profile.groups == ["acme"] && route.sharedGroups(of: profile) == ["acme"])
    }

    @Test func `one app that receives all groups is enough to keep them`() throws {
        let routes = [try self.route(.named, allow: "staff"), try self.route(.all, allow: "board")]
        var profile = self.profile(["a", "staff"])
        #expect(RequiredGroups(of: "google", routes: routes).keep(in: &profile) == 0)
        #expect(profile.groups == ["a", "staff"] && profile.groupsRequested == nil)
        #expect(profile.isOutside(group: "board"))
    }

    @Test func `groups over the budget are removed and counted, except those that rules name`() throws {
        let many = (0..<1000).map { "group-\($0)-" + String(repeating: "x", count: 90) }
        let required = RequiredGroups(of: "google", routes: [try self.route(.all, allow: "zz-last")])
        var profile = self.profile(many + ["zz-last"])
        let removed = required.keep(in: &profile)
        #expect(profile.groups.last == "zz-last")
        #expect(profile.groups.dropLast().reduce(0) { $0 + $1.utf8.count + 1 } <= RequiredGroups.budget)
        #expect(removed > 0 && profile.groups.count + removed == 1001)
        #expect(profile.groupsRequested == ["zz-last"])
    }

    @Test func `characters that are escaped in a header count with their escaped length`() throws {
        let required = RequiredGroups(of: "google", routes: [try self.route(.all, allow: "staff")])
        var profile = self.profile((0..<100).map { "\($0)" + String(repeating: "%", count: 50) })
        _ = required.keep(in: &profile)
        #expect(profile.groups.count == RequiredGroups.budget / (2 + 3 * 50 + 1))
    }

    @Test func `roles are limited`() throws {
        let required = RequiredGroups(of: "google", routes: [try self.route(.all, allow: "staff")])
        var profile = self.profile([])
        profile.roles = (0..<4300).map { "role-\($0)-" + String(repeating: "x", count: 40) }
        _ = required.keep(in: &profile)
        #expect(
            profile.roles.reduce(0) { $0 + $1.utf8.count } <= RequiredGroups.roleBudget && profile.roles.count > 200
        )
    }

    @Test func `apps that do not accept the provider require none of its groups`() throws {
        let required = RequiredGroups(of: "github", routes: [try self.route(.all, allow: "staff")])
        #expect(required.isEmpty)
    }

    @Test func `groups that nothing requires are not looked up`() throws {
        var route = try Route.to(.signedIn)
        route.groups = .named
        #expect(RequiredGroups(of: "google", routes: [route]).isEmpty)
        route.groups = .all
        #expect(!RequiredGroups(of: "google", routes: [route]).isEmpty)
    }

    @Test func `an app with named groups receives no others`() throws {
        let profile = self.profile(["a", "staff"])
        #expect(try self.route(.named, allow: "staff").sharedGroups(of: profile) == ["staff"])
        #expect(try self.route(.all, allow: "staff").sharedGroups(of: profile) == ["a", "staff"])
    }
}
