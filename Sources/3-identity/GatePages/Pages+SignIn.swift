// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// What the page of the accepted providers shows.
package struct SignInView {
    /// The providers.
    package let buttons: [PageButton]
    /// The app that the user wants to open, and the path of its icon; nil for none.
    package let app: (name: String, icon: String?)?
    /// The form that finds a provider by email address; nil if no provider has domains.
    package let discovery: Discovery?
    /// Whether the link that led here had a place to go to which is not taken.
    package let hasDroppedLink: Bool

    /// The form that finds a provider by email address.
    package struct Discovery {
        /// Where the form leads.
        package let action: String
        /// Where the user goes after the sign-in.
        package let target: String
        /// What the sign-in carries besides; nil for nothing.
        package let prompt: Form.Field?
        /// The email address for which there is no provider; nil at first.
        package let unknownEmail: String?

        /// A form with its action, where the user goes, what it carries, and the email address for which there is no provider.
        package init(action: String, target: String, prompt: Form.Field? = nil, unknownEmail: String?) {
            (self.action, self.target, self.prompt, self.unknownEmail) = (action, target, prompt, unknownEmail)
        }
    }

    /// The providers, the app, the form that finds one, and whether the link that led here is not taken.
    package init(
        buttons: [PageButton],
        app: (name: String, icon: String?)?,
        discovery: Discovery?,
        hasDroppedLink: Bool = false
    ) {
        (self.buttons, self.app, self.discovery) = (buttons, app, discovery)
        self.hasDroppedLink = hasDroppedLink
    }
}

extension Pages {
    /// The page that offers the accepted providers.
    package func signIn(_ view: SignInView, in language: PageLanguage) -> String {
        let values: [String: Any] = [
            "buttons": view.buttons.map { $0.values(in: language) }, "app": view.app?.name ?? "",
            "hasApp": view.app != nil, "appIcon": view.app?.icon ?? "", "hasAppIcon": view.app?.icon != nil,
            "offersDiscovery": view.discovery != nil, "discovery": view.discovery?.action ?? "",
            "target": view.discovery?.target ?? "", "hasPrompt": view.discovery?.prompt != nil,
            "promptName": view.discovery?.prompt?.name ?? "", "prompt": view.discovery?.prompt?.value ?? "",
            "email": view.discovery?.unknownEmail ?? "",
            "isUnknown": view.discovery?.unknownEmail != nil, "hasDroppedLink": view.hasDroppedLink,
        ]
        return self.render(.signIn, title: language.template(.signIn), values, in: language)
    }

    /// What the page about a failure shows beside its texts.
    package struct ErrorView {
        let page: Failure.Page
        /// The name of the app; nil if it is not known.
        let app: String?
        /// The authorities whose certificates of clients are accepted.
        let issuers: String
        /// The code of the failure, and its incident.
        let code: String
        let incident: String
        /// The user, if the page names one.
        let user: PageContext.User?
        /// What the user can do.
        let buttons: [PageButton]

        /// A failure by its page, its app, its code and its incident, with the user and what the user can do.
        package init(
            _ page: Failure.Page,
            app: String? = nil,
            issuers: String = "",
            code: String,
            incident: String,
            user: PageContext.User? = nil,
            buttons: [PageButton] = []
        ) {
            (self.page, self.app, self.code, self.incident) = (page, app, code, incident)
            (self.user, self.buttons, self.issuers) = (user, buttons, issuers)
        }
    }

    package func error(_ view: ErrorView, in language: PageLanguage) -> String {
        let texts = language.templates(of: view.page)
        let values: [String: Any] = [
            "text": texts.text.value, "app": view.app ?? language.template(.thisApp).value, "code": view.code,
            "issuers": view.issuers, "incident": view.incident, "buttons": view.buttons.map { $0.values(in: language) },
            "hasButtons": !view.buttons.isEmpty,
        ]
        let all = values.merging(Pages.values(of: view.user)) { $1 }
        return self.render(.error, title: texts.title, all, in: language)
    }

    /// The page with the buttons that sign out, here or, if that is offered, everywhere.
    package func signOut(
        action: String,
        user: PageContext.User,
        offersEverywhere: Bool,
        in language: PageLanguage
    ) -> String {
        let values: [String: Any] = [
            "action": action, "field": SessionForm.everywhere.name, "all": SessionForm.everywhere.value,
            "everywhere": offersEverywhere,
        ]
        let all = Pages.values(of: user).merging(values) { $1 }
        return self.render(.signOut, title: language.template(.signOut), all, in: language)
    }

    /// What a sign-out means for the session at the provider.
    package enum SignOutRemark: Sendable, Hashable {
        /// The user may be signed in there still; which it is, is not known.
        case unknown
        /// There is no session at a provider.
        case complete(includesOthers: Bool)
        /// The user may be signed in at this provider still.
        case onlyHere(provider: String, includesOthers: Bool)
        /// The user is signed out at this provider as well.
        case atProvider(String, includesOthers: Bool)
    }

    /// The page after that.
    package func signedOut(address: String, remark: SignOutRemark, in language: PageLanguage) -> String {
        var values: [String: Any] = ["address": address, "hasOthers": false]
        switch remark {
        case .unknown: values["remark"] = language.template(.signedOutUnknown).value
        case .complete(let others):
            (values["remark"], values["hasOthers"]) = (language.template(.signedOutComplete).value, others)
        case .onlyHere(let provider, let others):
            (values["remark"], values["provider"]) = (language.template(.signedOutHere).value, provider)
            values["hasOthers"] = others
        case .atProvider(let provider, let others):
            (values["remark"], values["provider"]) = (language.template(.signedOutThere).value, provider)
            values["hasOthers"] = others
        }
        return self.render(.signedOut, title: language.template(.signedOutTitle), values, in: language)
    }
}
