// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GateProviders

@Suite struct IssuerRuleTests {
    private static let template = "https://login.microsoftonline.com/{tenantid}/v2.0"
    private static let tenant = "8eae0000-2b34-4da1-9baa-8bc8c9d6a490"
    private static let other = "11112222-3333-4444-5555-666677778888"

    private static func issuer(_ tenant: String) -> String { "https://login.microsoftonline.com/\(tenant)/v2.0" }

    private static func claims(_ tenant: String, issuer: String? = nil) -> JSON {
        ["iss": .string(issuer ?? self.issuer(tenant)), "tid": .string(tenant)]
    }

    @Test(arguments: [
        "https://id.example.com/", "https://ID.example.com", "http://id.example.com", "id.example.com",
        "https://id.example.com:443", "https://id.example.com.evil.example", "",
    ])
    func `an issuer is compared byte for byte`(issuer: String) {
        let rule = IssuerRule.exact("https://id.example.com")
        #expect(rule.verdict(on: ["iss": .string(issuer)], discovered: "https://id.example.com") == .foreign)
        #expect(!rule.admits(callback: issuer, discovered: "https://id.example.com"))
        #expect(!rule.admits(discovered: issuer))
    }

    @Test func `a character that only looks equal makes another issuer`() {
        let rule = IssuerRule.exact("https://id.example.com/K")
        let kelvin = "https://id.example.com/\u{212A}"
        #expect(rule.verdict(on: ["iss": .string(kelvin)], discovered: kelvin) == .foreign)
        #expect(!rule.admits(callback: kelvin, discovered: kelvin) && !rule.admits(discovered: kelvin))
    }

    @Test func `an issuer that is not a string is foreign`() {
        #expect(IssuerRule.exact("1").verdict(on: ["iss": 1], discovered: "1") == .foreign)
        #expect(IssuerRule.exact("1").verdict(on: [:], discovered: "1") == .foreign)
    }

    @Test func `an alias counts in tokens and becomes the canonical spelling, but not in callbacks`() {
        let rule = IssuerRule.aliased("https://accounts.google.com", alias: "accounts.google.com")
        let canonical = IssuerRule.Verdict.accepted("https://accounts.google.com")
        #expect(rule.verdict(on: ["iss": "accounts.google.com"], discovered: "") == canonical)
        #expect(rule.verdict(on: ["iss": "https://accounts.google.com"], discovered: "") == canonical)
        #expect(!rule.admits(callback: "accounts.google.com", discovered: ""))
        #expect(rule.admits(callback: "https://accounts.google.com", discovered: ""))
    }

    @Test(arguments: [
        "{tenantid}", "8eae0000", "8eae0000-2b34-4da1-9baa-8bc8c9d6a49", "8eae0000-2b34-4da1-9baa-8bc8c9d6a49g", "",
        "common", "../x",
    ])
    func `a tenant id that is not a GUID is rejected`(tenant: String) {
        let rule = IssuerRule.tenanted(template: Self.template, .any)
        #expect(rule.verdict(on: Self.claims(tenant), discovered: Self.template) == .foreign)
    }

    @Test func `the issuer must be the template filled with the token's own tenant`() {
        let rule = IssuerRule.tenanted(template: Self.template, .any)
        let good = Self.claims(Self.tenant)
        let mixed = Self.claims(Self.tenant, issuer: Self.issuer(Self.other))
        #expect(rule.verdict(on: good, discovered: Self.template) == .accepted(Self.issuer(Self.tenant)))
        #expect(rule.verdict(on: mixed, discovered: Self.template) == .foreign)
    }

    @Test(arguments: [
        (IssuerRule.TenantRule.any, true, true, true),
        (.organizations, true, true, false),
        (.only(tenant), true, false, false),
        (.only(IssuerRule.consumerTenant), false, false, true),
    ])
    func `a tenant rule decides whose users may sign in`(
        rule: IssuerRule.TenantRule,
        tenant: Bool,
        other: Bool,
        consumer: Bool
    ) {
        let issuer = IssuerRule.tenanted(template: Self.template, rule)
        let expected = [(Self.tenant, tenant), (Self.other, other), (IssuerRule.consumerTenant, consumer)]
        for (id, admitted) in expected {
            let verdict = issuer.verdict(on: Self.claims(id), discovered: Self.template)
            #expect(verdict == (admitted ? .accepted(Self.issuer(id)) : .tenantRefused))
        }
    }

    @Test func `the tenant of a domain is the one that discovery names`() {
        let rule = IssuerRule.tenanted(template: Self.template, .discovered)
        let discovered = Self.issuer(Self.tenant)
        #expect(rule.admits(discovered: discovered))
        #expect(!rule.admits(discovered: Self.template))
        #expect(rule.verdict(on: Self.claims(Self.tenant), discovered: discovered) == .accepted(discovered))
        #expect(rule.verdict(on: Self.claims(Self.other), discovered: discovered) == .tenantRefused)
        #expect(!rule.admits(callback: Self.issuer(Self.other), discovered: discovered))
    }

    @Test func `discovery of many tenants names the template, discovery of one names the tenant`() {
        #expect(IssuerRule.tenanted(template: Self.template, .any).admits(discovered: Self.template))
        #expect(!IssuerRule.tenanted(template: Self.template, .any).admits(discovered: Self.issuer(Self.tenant)))
        let one = IssuerRule.tenanted(template: Self.template, .only(Self.tenant))
        #expect(one.admits(discovered: Self.issuer(Self.tenant)))
        #expect(!one.admits(discovered: Self.issuer(Self.other)))
    }

    @Test func `a key of one tenant vouches for that tenant only`() {
        let rule = IssuerRule.tenanted(template: Self.template, .any)
        let issuer = Self.issuer(Self.tenant)
        #expect(rule.admits(keyIssuer: Self.template, for: issuer))
        #expect(rule.admits(keyIssuer: issuer, for: issuer))
        #expect(!rule.admits(keyIssuer: nil, for: issuer))
        #expect(IssuerRule.tenanted(template: Self.template, .only(Self.tenant)).admits(keyIssuer: nil, for: issuer))
        #expect(!rule.admits(keyIssuer: Self.issuer(IssuerRule.consumerTenant), for: issuer))
        #expect(IssuerRule.exact("a").admits(keyIssuer: "b", for: "a"))
    }
}
