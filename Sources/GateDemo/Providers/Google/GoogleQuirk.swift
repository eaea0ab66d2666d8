// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// What can be odd about Google.
///
/// Always so, as with the real one: a code with `/` in it, parameters in the callback that nobody asked for, key sets
/// whose members come in another order each time, a refresh token only after `access_type=offline` and a consent.
enum GoogleQuirk {
    static let shortIssuer = DemoQuirk(
        "google-short-issuer",
        of: "google",
        "The ID token's iss has no https:// (documented for Google only); the gateway takes both spellings as one.",
    )
    static let noDomain = DemoQuirk(
        "google-no-hd",
        of: "google",
        "No account is of a Workspace, so there is no hd; the profile has no tenant and the e-mail is not authoritative.",
    )
    static let oneDomain = DemoQuirk(
        "google-hosted-domain",
        of: "google",
        "The gateway's file admits hosted_domains example.org only; a consumer account is refused by its missing hd.",
    )
    static let textVerified = DemoQuirk(
        "google-email-verified-text",
        of: "google",
        "email_verified is the text \"true\", as in an old sample of Google's; the gateway reads it as true.",
    )
    static let noVerified = DemoQuirk(
        "google-email-verified-absent",
        of: "google",
        "email_verified is missing; the gateway takes the e-mail for unverified.",
    )
    static let noIssuer = DemoQuirk(
        "google-no-callback-issuer",
        of: "google",
        "The callback has no iss, as before 2026; the gateway signs in all the same.",
    )
    static let moreParameters = DemoQuirk(
        "google-extra-parameters",
        of: "google",
        "The callback has parameters that nobody knows; the gateway ignores them.",
    )
    static let offline = DemoQuirk(
        "google-offline",
        of: "google",
        "The gateway's file asks for access_type=offline and prompt=consent, so a refresh token comes as well.",
    )
    static let rollOver = DemoQuirk(
        "google-key-roll-over",
        of: "google",
        "From the second sign-in on a new key signs, and the key sets have two, three and two keys; the gateway fetches"
            + " once more.",
    )
    static let groups = DemoQuirk(
        "google-groups",
        of: "google",
        "The gateway reads the groups of Workspace people from Cloud Identity, page by page.",
    )
    static let transitiveGroups = DemoQuirk(
        "google-groups-transitive",
        of: "google",
        "As google-groups, with the groups that a group of the person is in.",
    )
    static let failingPage = DemoQuirk(
        "google-groups-failing-page",
        of: "google",
        "The second page of groups fails with status 503; the gateway calls the list incomplete.",
    )

    static let all = [
        Self.shortIssuer, Self.noDomain, Self.oneDomain, Self.textVerified, Self.noVerified, Self.noIssuer,
        Self.moreParameters, Self.offline, Self.rollOver, Self.groups, Self.transitiveGroups, Self.failingPage,
    ]
}

extension GoogleSimulator {
    static let simulation = SimulatedProvider(
        name: "google",
        clientID: "123456789012-demo.apps.googleusercontent.com",
        quirks: GoogleQuirk.all,
        make: { GoogleSimulator($0) },
        lines: { stage in
            var lines = ["type: google", "base_url: \(stage.address.base)"]
            if stage.has(GoogleQuirk.oneDomain) { lines.append("hosted_domains: [ example.org ]") }
            if stage.has(GoogleQuirk.offline) {
                lines.append("authorization_parameters: { access_type: offline, prompt: consent }")
            }
            if stage.has(GoogleQuirk.transitiveGroups) {
                lines.append("groups: [ transitive ]")
            } else if stage.has(GoogleQuirk.groups) || stage.has(GoogleQuirk.failingPage) {
                lines.append("groups: [ direct ]")
            }
            return lines
        },
    )
}
