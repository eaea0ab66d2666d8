// SPDX-License-Identifier: Apache-2.0

package import GateCore

extension Pages {
    /// Where the page of apps leads.
    package struct AppsLinks {
        let search: String
        let account: String
        let signOut: String

        /// The URLs of the page itself, of the account and of the sign-out.
        package init(search: String, account: String, signOut: String) {
            (self.search, self.account, self.signOut) = (search, account, signOut)
        }
    }

    /// The page that lists the apps that a user may open.
    package func apps(
        _ view: AppsView,
        user: PageContext.User,
        links: AppsLinks,
        in language: PageLanguage
    ) -> String {
        let values: [String: Any] = [
            "searchAction": links.search, "accountAddress": links.account, "signOut": links.signOut,
        ]
        let all = view.values(in: language).merging(values) { $1 }.merging(Pages.values(of: user)) { $1 }
        return self.render(.apps, title: language.template(.appsTitle), all, in: language, isWide: true)
    }

    /// The page that shows a user what apps get to know, and where the user is signed in.
    package func account(
        _ view: AccountView,
        of profile: Profile,
        provider: String,
        apps: String,
        credentials: String? = nil,
        passkeys: String? = nil,
        connected: String? = nil,
        in language: PageLanguage
    ) -> String {
        var values = view.values(of: profile, provider: provider, in: language)
        values["appsAddress"] = apps
        (values["credentialsAddress"], values["hasCredentials"]) = (credentials ?? "", credentials != nil)
        (values["passkeysAddress"], values["hasPasskeyPage"]) = (passkeys ?? "", passkeys != nil)
        (values["connectedAddress"], values["hasConnectedPage"]) = (connected ?? "", connected != nil)
        return self.render(.account, title: language.template(.accountTitle), values, in: language, isWide: true)
    }
}
