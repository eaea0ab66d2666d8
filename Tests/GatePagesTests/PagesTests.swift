// SPDX-License-Identifier: Apache-2.0

import GateCore
import GatePages
import Testing

@Suite struct PagesTests {
    @Test func `values in pages are escaped`() {
        var eve = Profile(provider: "staff", issuer: "https://id.staff.example", subject: "e")
        eve.name = "<b>&\"Eve\""
        eve.email = "<i>@example.org"
        let user = PageContext.User(eve, provider: "<u>", isSignedIn: true)
        let page = Pages.signOut(action: "\"><script>", user: user)
        #expect(!page.contains("<script>") && !page.contains("<b>") && !page.contains("<i>") && !page.contains("<u>"))
        let button = PageButton(address: "\"><script>", text: "<i>")
        for page in [
            Pages.apps([button], user: user, signOut: "\"><script>"),
            Pages.error(title: "<i>", text: "<b>", code: "<i>", incident: "<i>", user: user, buttons: [button]),
            Pages.signedOut(address: "\"><script>", remark: "<i>"),
        ] {
            #expect(
                !page.contains("<script>") && !page.contains("<b>") && !page.contains("<i>") && !page.contains("<u>")
            )
        }
        let chooser = Pages.chooser([PageButton(address: "javascript:\"><i>", text: "<i>")], app: "<i>")
        #expect(!chooser.contains("<i>"))
    }
}

@Suite struct ErrorPageTests {
    @Test(
        arguments: [
            (.openIDAttemptLost, ["Sign in again"]), (.openIDAttemptExpired, ["Sign in again"]),
            (.sessionTransferCode, ["Sign in again"]), (.requestHeaderName, []),
            (.policyRefused, ["Sign in with another account", "Sign out", "Show my apps"]),
            (.policyGroupsUnknown, ["Sign in again", "Sign out", "Show my apps"]),
            (.providerDenied, ["Sign in with another account"]), (.requestCrossSite, []),
            (.providerUnavailable, ["Sign in again"]), (.upstreamUnreachable, []), (.sessionNone, ["Sign in"]),
            (.routeNone, ["Show my apps"]),
        ] as [(Failure.Reason, [String])]
    )
    func `a user is offered what they can do`(reason: Failure.Reason, texts: [String]) throws {
        let gate = try #require(Origin(scheme: "https", host: "gate.example.com"))
        let buttons = PageContext().buttons(for: Failure(reason, ""), at: gate)
        #expect(buttons.map(\.text) == texts)
        #expect(buttons.allSatisfy { $0.address.hasPrefix("https://gate.example.com/oauth2/") })
    }

    @Test(
        arguments: [.requestTarget, .wireTooSlow, .wireTargetTooLong, .wireHeadTooLarge, .requestMethodUnknown]
            as [Failure.Reason]
    )
    func `a rejected message has a page without steps`(reason: Failure.Reason) {
        let page = reason.entry.page
        #expect(!page.title.isEmpty && !page.text.isEmpty && page.steps.isEmpty)
    }
}
