// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// What can be odd about Microsoft Entra ID.
///
/// Always so, as with the real one: keys without `alg` but with an `issuer`, key sets that differ between two fetches,
/// no `iss` in the callback, line ends in error descriptions, errors of Graph inside an object, no picture, a guest
/// whose principal name is no address, an e-mail that nobody vouches for.
enum MicrosoftQuirk {
    static let common = DemoQuirk(
        "microsoft-common",
        of: "microsoft",
        "The gateway's file says tenant: common, so the issuer is a template; the gateway puts the token's tenant in.",
    )
    static let organizations = DemoQuirk(
        "microsoft-organizations",
        of: "microsoft",
        "The gateway's file says tenant: organizations; accounts of every company, no personal ones.",
    )
    static let consumers = DemoQuirk(
        "microsoft-consumers",
        of: "microsoft",
        "The gateway's file says tenant: consumers; personal accounts only, all of one tenant.",
    )
    static let tenantList = DemoQuirk(
        "microsoft-tenant-list",
        of: "microsoft",
        "The gateway's file says tenant: common and lists one tenant; people of all others are refused.",
    )
    static let otherTenant = DemoQuirk(
        "microsoft-other-tenant",
        of: "microsoft",
        "The token is of another tenant than the one in the gateway's file; the gateway refuses it.",
    )
    static let badTenant = DemoQuirk(
        "microsoft-tenant-no-guid",
        of: "microsoft",
        "The token's tid is no GUID but a piece of an address; the gateway puts no such thing into the issuer.",
    )
    static let consumerKey = DemoQuirk(
        "microsoft-consumer-key",
        of: "microsoft",
        "A work account's token is signed with the key for personal accounts; the gateway looks at the key's issuer.",
    )
    static let alternatingKeys = DemoQuirk(
        "microsoft-alternating-keys",
        of: "microsoft",
        "Two servers sign and each publishes its own key only; the gateway keeps the keys it has seen.",
    )
    static let textExpiry = DemoQuirk(
        "microsoft-text-expiry",
        of: "microsoft",
        "expires_in is a text, as in version 1.0 and Azure AD B2C; the gateway signs in all the same.",
    )
    static let noMail = DemoQuirk(
        "microsoft-no-mail",
        of: "microsoft",
        "Nobody has an e-mail address (mail is null); the gateway takes no principal name for one.",
    )
    static let formPost = DemoQuirk(
        "microsoft-form-post",
        of: "microsoft",
        "The gateway's file says response_mode: form_post, so the callback is a form from another site.",
    )
    static let groups = DemoQuirk(
        "microsoft-groups",
        of: "microsoft",
        "The ID token has groups and roles, and the gateway's file wants them.",
    )
    static let overage = DemoQuirk(
        "microsoft-overage",
        of: "microsoft",
        "More than 200 groups, so the token names an address instead; the gateway asks Graph, at an address of its own.",
    )
    static let overageUnresolved = DemoQuirk(
        "microsoft-overage-unresolved",
        of: "microsoft",
        "As microsoft-overage, and Graph refuses to tell; the gateway calls the list incomplete.",
    )

    static let all = [
        Self.common, Self.organizations, Self.consumers, Self.tenantList, Self.otherTenant, Self.badTenant,
        Self.consumerKey, Self.alternatingKeys, Self.textExpiry, Self.noMail, Self.formPost, Self.groups, Self.overage,
        Self.overageUnresolved,
    ]

    /// Those that show nothing unless the gateway wants groups.
    static let aboutGroups = [Self.groups, Self.overage, Self.overageUnresolved]
}

extension MicrosoftSimulator {
    static let simulation = SimulatedProvider(
        name: "microsoft",
        clientID: "6cb04018-a3f5-46a7-b995-940c78f5aef3",
        quirks: MicrosoftQuirk.all,
        make: { MicrosoftSimulator($0) },
        lines: { stage in
            let several = [MicrosoftQuirk.common, MicrosoftQuirk.tenantList, MicrosoftQuirk.badTenant]
            let tenant =
                if several.contains(where: stage.has) {
                    "common"
                } else if stage.has(MicrosoftQuirk.organizations) {
                    "organizations"
                } else {
                    stage.has(MicrosoftQuirk.consumers) ? "consumers" : Self.tenant
                }
            var lines = ["type: microsoft", "base_url: \(stage.address.base)", "tenant: \(tenant)"]
            if stage.has(MicrosoftQuirk.tenantList) { lines.append("tenants: [ \(Self.tenant) ]") }
            if stage.has(MicrosoftQuirk.formPost) { lines.append("response_mode: form_post") }
            if MicrosoftQuirk.aboutGroups.contains(where: stage.has) { lines.append("groups: [ graph ]") }
            return lines
        },
    )
}
