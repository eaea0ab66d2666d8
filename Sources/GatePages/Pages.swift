// SPDX-License-Identifier: Apache-2.0

/// A link that looks like a button.
package struct PageButton: Sendable, Hashable {
    /// The URL that the button leads to.
    package let address: String
    /// The label.
    package let text: String

    /// A button with a label that leads to a URL.
    package init(address: String, text: String) {
        self.address = address
        self.text = text
    }

    fileprivate var values: [String: String] { ["address": self.address, "text": self.text] }
}

/// The gateway's own pages.
///
/// Values are escaped by the templates; no page holds bytes of the request.
package enum Pages {
    /// The page that offers the accepted providers.
    package static func chooser(_ buttons: [PageButton], app: String?) -> String {
        self.render(
            self.chooserTemplate,
            title: "Sign in",
            ["buttons": buttons.map(\.values), "app": app ?? "", "hasApp": app != nil]
        )
    }

    /// The page for an error.
    package static func error(
        title: String,
        text: String,
        code: String,
        incident: String,
        user: PageContext.User? = nil,
        buttons: [PageButton] = []
    ) -> String {
        let values: [String: Any] = [
            "text": text, "code": code, "incident": incident, "buttons": buttons.map(\.values),
            "hasButtons": !buttons.isEmpty,
        ]
        return self.render(self.errorTemplate, title: title, values.merging(self.values(of: user)) { $1 })
    }

    /// The field of the form with which a sign-out ends all sessions of the user.
    package static let everywhere = (name: "sessions", value: "all")

    /// The page with the buttons that sign out, here or, if that is offered, everywhere.
    package static func signOut(action: String, user: PageContext.User, offersEverywhere: Bool = true) -> String {
        let values: [String: Any] = [
            "action": action, "field": self.everywhere.name, "all": self.everywhere.value,
            "everywhere": offersEverywhere,
        ]
        return self.render(self.signOutTemplate, title: "Sign out", self.values(of: user).merging(values) { $1 })
    }

    /// The page after that; `remark` explains what it means for the session at the provider.
    package static func signedOut(address: String, remark: String) -> String {
        let values = ["address": address, "remark": remark]
        return self.render(self.signedOutTemplate, title: "You are signed out", values)
    }

    /// The page that lists the apps that a user may open.
    package static func apps(_ apps: [PageButton], user: PageContext.User, signOut: String) -> String {
        let values: [String: Any] = ["apps": apps.map(\.values), "hasApps": !apps.isEmpty, "signOut": signOut]
        return self.render(self.appsTemplate, title: "Your apps", values.merging(self.values(of: user)) { $1 })
    }

    /// The page that asks a user whether a client may sign them in.
    ///
    /// - Parameters:
    ///   - view: The client, and the form.
    ///   - target: Where the browser goes, as the user may recognize it.
    ///   - user: Who is signed in.
    /// - Returns: The page.
    package static func consent(_ view: ConsentView, target: String, user: PageContext.User) -> String {
        let values = self.values(of: user).merging(view.values) { $1 }.merging(["target": target]) { $1 }
        return self.render(self.consentTemplate, title: "Continue to \(view.client)?", values)
    }

    static func values(of user: PageContext.User?) -> [String: Any] {
        guard let user else { return ["hasUser": false] }
        return [
            "hasUser": true, "isSignedIn": user.isSignedIn, "user": user.name, "account": user.account,
            "hasAccount": !user.account.isEmpty,
        ]
    }

    /// A page: its content in the frame that all pages share.
    ///
    /// - Parameters:
    ///   - template: The content.
    ///   - title: The title and heading.
    ///   - values: The values of the content.
    ///   - assets: Where the style sheet and the icon are.
    /// - Returns: The page.
    static func render(
        _ template: PageTemplate,
        title: String,
        _ values: [String: Any],
        assets: (style: String, icon: String) = ("/oauth2/style.css", "/oauth2/icon.svg")
    ) -> String {
        let content = template.render(values)
        return self.frame.render(
            ["title": title, "content": content, "style": assets.style, "icon": assets.icon]
        )
    }

    private static let frame = PageTemplate(
        """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>{{title}}</title>
        <link rel="stylesheet" href="{{style}}">
        <link rel="icon" href="{{icon}}" type="image/svg+xml">
        </head>
        <body>
        <main>
        <h1>{{title}}</h1>
        {{{content}}}
        </main>
        </body>
        </html>

        """
    )

    private static let chooserTemplate = PageTemplate(
        """
        {{#hasApp}}<p>to continue to <strong>{{app}}</strong></p>{{/hasApp}}
        <ul class="providers">
        {{#buttons}}
        <li><a class="button" href="{{address}}">{{text}}</a></li>
        {{/buttons}}
        </ul>

        """
    )

    private static let consentTemplate = PageTemplate(
        """
        {{#hasUser}}
        <p>You are signed in as <strong>{{user}}</strong>{{#hasAccount}} ({{account}}){{/hasAccount}}.</p>
        {{/hasUser}}
        <p><strong>{{client}}</strong> asks to sign you in. It gets your name and your email address{{^hasApps}}.{{/hasApps}}{{#hasApps}},
        and until you sign out it can act for you in:{{/hasApps}}</p>
        {{#hasApps}}<ul>{{#apps}}<li>{{.}}</li>{{/apps}}</ul>{{/hasApps}}
        <p>Continue only if you have just started this yourself. You will be sent to <code>{{target}}</code>.</p>
        <form method="post" action="{{action}}">
        <input type="hidden" name="{{field}}" value="{{sealed}}">
        <ul class="providers">
        <li><button class="button" type="submit" name="{{choice}}" value="{{allow}}">Continue</button></li>
        <li><button class="button" type="submit" name="{{choice}}" value="{{deny}}">Cancel</button></li>
        </ul>
        </form>

        """
    )

    private static let errorTemplate = PageTemplate(
        """
        {{#hasUser}}
        <p>{{#isSignedIn}}You are signed in as{{/isSignedIn}}{{^isSignedIn}}You used the account of{{/isSignedIn}}
        <strong>{{user}}</strong>{{#hasAccount}} ({{account}}){{/hasAccount}}.</p>
        {{/hasUser}}
        <p>{{text}}</p>
        {{#hasButtons}}
        <ul class="providers">
        {{#buttons}}
        <li><a class="button" href="{{address}}">{{text}}</a></li>
        {{/buttons}}
        </ul>
        {{/hasButtons}}
        <p class="fine">If you ask for help, give these: <code>{{code}}</code> and <code>{{incident}}</code></p>

        """
    )

    private static let signOutTemplate = PageTemplate(
        """
        <p>You are signed in as <strong>{{user}}</strong>{{#hasAccount}} ({{account}}){{/hasAccount}}.</p>
        <form method="post" action="{{action}}">
        <ul class="providers">
        <li><button class="button" type="submit">Sign out</button></li>
        {{#everywhere}}
        <li><button class="button" type="submit" name="{{field}}" value="{{all}}">Sign out everywhere</button></li>
        {{/everywhere}}
        </ul>
        </form>
        {{#everywhere}}
        <p class="fine">Everywhere means: in all browsers and on all devices that use this account here.</p>
        {{/everywhere}}

        """
    )

    private static let signedOutTemplate = PageTemplate(
        """
        <p>{{remark}}</p>
        <p><a class="button" href="{{address}}">Sign in again</a></p>

        """
    )

    private static let appsTemplate = PageTemplate(
        """
        <p>You are signed in as <strong>{{user}}</strong>{{#hasAccount}} ({{account}}){{/hasAccount}}.</p>
        {{#hasApps}}
        <ul class="providers">
        {{#apps}}
        <li><a class="button" href="{{address}}">{{text}}</a></li>
        {{/apps}}
        </ul>
        {{/hasApps}}
        {{^hasApps}}<p>There is no app here that this account may open.</p>{{/hasApps}}
        <p class="fine"><a href="{{signOut}}">Sign out</a></p>

        """
    )

    /// The icon of our pages, so that browsers do not ask an app for one: a gate in a wall.
    package static let icon = """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="#0b57d0" d="M1 15V7a7 7 0 0 1 14 0v8h-3\
        V8a4 4 0 0 0-8 0v7z"/></svg>

        """

    /// The style sheet, so that no page needs styles of its own.
    package static let style = """
        :root { color-scheme: light dark; --ink: #1f2328; --ground: #f6f7f9; --card: #ffffff; --line: #747775;
          --accent: #0b57d0; --fine: #575c63; }
        @media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --ground: #15181c; --card: #1e2228;
          --line: #8e918f; --accent: #a8c7fa; --fine: #a5abb3; } }
        * { box-sizing: border-box; }
        body { margin: 0; min-height: 100vh; display: flex; align-items: center; justify-content: center;
          background: var(--ground); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
        main { width: 100%; max-width: 26rem; margin: 1rem; padding: 2rem; background: var(--card);
          border: 1px solid color-mix(in srgb, var(--line) 35%, transparent); border-radius: .75rem; }
        h1 { margin: 0 0 1rem; font-size: 1.5rem; line-height: 1.25; }
        p { margin: 0 0 1rem; overflow-wrap: anywhere; }
        main > :last-child { margin-bottom: 0; }
        ul.providers { list-style: none; margin: 0; padding: 0; display: grid; gap: .75rem; }
        .button { display: block; width: 100%; padding: .7rem 1rem; border: 1px solid var(--line); border-radius: .5rem;
          background: transparent; color: var(--ink); font: inherit; font-weight: 600; text-align: center;
          text-decoration: none; cursor: pointer; }
        .field { display: block; width: 100%; margin: .25rem 0 1rem; padding: .7rem 1rem; border: 1px solid var(--line);
          border-radius: .5rem; background: transparent; color: var(--ink); font: inherit; letter-spacing: .1em;
          text-transform: uppercase; }
        .entry { display: block; width: 100%; margin: .25rem 0 1rem; padding: .7rem 1rem; border: 1px solid var(--line);
          border-radius: .5rem; background: transparent; color: var(--ink); font: inherit; }
        .entry:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
        h2 { margin: 2rem 0 .5rem; font-size: 1.125rem; line-height: 1.25; }
        .codes { columns: 2; padding: 0; list-style: none; font: 600 1rem/1.75 ui-monospace, monospace; }
        .code { font: 600 1.5rem ui-monospace, monospace; letter-spacing: .1em; text-align: center; }
        .field:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
        form .button + .button { margin-top: .75rem; }
        .button:hover { border-color: var(--accent); color: var(--accent); }
        .button:focus-visible, a:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
        .fine { margin-top: 1.5rem; font-size: .875rem; color: var(--fine); }
        .fine a { color: inherit; }
        code { font-family: ui-monospace, monospace; }

        """
}
