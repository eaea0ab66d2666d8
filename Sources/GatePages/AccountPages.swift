// SPDX-License-Identifier: Apache-2.0

/// What the forms of local accounts have in common.
package struct AccountForm {
    private let action: String
    private let hidden: [(name: String, value: String)]
    private let remark: String?

    /// - Parameters:
    ///   - action: Where the form leads.
    ///   - hidden: The hidden fields.
    ///   - remark: What was wrong with what the user has sent; nil at first.
    package init(action: String, hidden: [(name: String, value: String)], remark: String? = nil) {
        (self.action, self.hidden, self.remark) = (action, hidden, remark)
    }

    /// The values of a template.
    fileprivate var values: [String: Any] {
        [
            "action": self.action, "hidden": self.hidden.map { ["field": $0.name, "sealed": $0.value] },
            "remark": self.remark ?? "", "hasRemark": self.remark != nil,
        ]
    }
}

// The pages of local accounts: the sign-in form, links, the password and the second factor.
extension Pages {
    /// The names of the fields.
    package enum AccountField {
        /// The email address or user name.
        package static let username = "username"
        /// The password.
        package static let password = "password"
        /// A time-based code or a recovery code.
        package static let code = "code"
        /// A password that the user chooses.
        package static let newPassword = "new_password"
        /// The same once more.
        package static let repeated = "repeat_password"
        /// What the form on the page about credentials is to do.
        package static let action = "action"
    }

    /// What a form on the page about credentials is to do.
    package enum CredentialAction: String, Sendable {
        /// Change the password.
        case password
        /// Add the second factor.
        case enrol
        /// Remove the second factor.
        case remove
    }

    /// The form for the name and the password.
    package static func password(_ form: AccountForm, name: String, app: String?) -> String {
        let values: [String: Any] = ["name": name, "app": app ?? "", "hasApp": app != nil]
        return self.render(self.passwordTemplate, title: "Sign in", form.values.merging(values) { $1 })
    }

    /// The form for the code after the password.
    package static func code(_ form: AccountForm) -> String {
        self.render(self.codeTemplate, title: "Type a code", form.values)
    }

    /// The form in which a user chooses a password by a link.
    package static func choosePassword(_ form: AccountForm, name: String) -> String {
        self.render(self.chooseTemplate, title: "Choose a password", form.values.merging(["name": name]) { $1 })
    }

    /// The page after that.
    package static func passwordChosen(signIn address: String) -> String {
        self.render(self.chosenTemplate, title: "Your password is set", ["address": address])
    }

    /// The page on which a user changes the password and the second factor.
    ///
    /// - Parameters:
    ///   - form: What its forms have in common.
    ///   - user: Who is signed in.
    ///   - factor: The second factor: the number of recovery codes that are left, or a secret to add.
    /// - Returns: The page.
    package static func credentials(_ form: AccountForm, user: PageContext.User, factor: SecondFactorView) -> String {
        let values = self.values(of: user).merging(form.values) { $1 }.merging(factor.values) { $1 }
        return self.render(self.credentialsTemplate, title: "Password and codes", values)
    }

    /// The page with the recovery codes, which are shown once.
    package static func recoveryCodes(_ codes: [String], back address: String) -> String {
        self.render(self.recoveryTemplate, title: "Keep these codes", ["codes": codes, "address": address])
    }

    /// The page after a change.
    package static func credentialsChanged(_ text: String, back address: String) -> String {
        self.render(self.changedTemplate, title: "Done", ["text": text, "address": address])
    }

    private static let passwordTemplate = PageTemplate(
        """
        {{#hasApp}}<p>to continue to <strong>{{app}}</strong></p>{{/hasApp}}
        {{#hasRemark}}<p role="alert"><strong>{{remark}}</strong></p>{{/hasRemark}}
        <form method="post" action="{{action}}">
        {{#hidden}}<input type="hidden" name="{{field}}" value="{{sealed}}">{{/hidden}}
        <label for="username">Email address or user name</label>
        <input class="entry" id="username" name="username" value="{{name}}" required maxlength="320" \
        autocomplete="username" autocapitalize="none" spellcheck="false">
        <label for="password">Password</label>
        <input class="entry" type="password" id="password" name="password" required autocomplete="current-password">
        <button class="button">Sign in</button>
        </form>
        <p class="fine">If you have forgotten the password, ask the administrator for a link to choose another one.</p>

        """
    )

    private static let codeTemplate = PageTemplate(
        """
        {{#hasRemark}}<p role="alert"><strong>{{remark}}</strong></p>{{/hasRemark}}
        <form method="post" action="{{action}}">
        {{#hidden}}<input type="hidden" name="{{field}}" value="{{sealed}}">{{/hidden}}
        <label for="code">The six digits that your authenticator app shows, or one of your recovery codes</label>
        <input class="entry" id="code" name="code" required maxlength="32" autocomplete="one-time-code" \
        autocapitalize="characters" spellcheck="false">
        <button class="button">Continue</button>
        </form>

        """
    )

    private static let chooseTemplate = PageTemplate(
        """
        {{#hasRemark}}<p role="alert"><strong>{{remark}}</strong></p>{{/hasRemark}}
        <form method="post" action="{{action}}">
        {{#hidden}}<input type="hidden" name="{{field}}" value="{{sealed}}">{{/hidden}}
        <label for="username">Your account</label>
        <input class="entry" id="username" name="username" value="{{name}}" readonly autocomplete="username">
        <label for="new_password">New password, at least 12 characters</label>
        <input class="entry" type="password" id="new_password" name="new_password" required autocomplete="new-password">
        <label for="repeat_password">The same once more</label>
        <input class="entry" type="password" id="repeat_password" name="repeat_password" required autocomplete="new-password">
        <button class="button">Set the password</button>
        </form>
        <p class="fine">Several words are fine, and so are spaces. You can paste from a password manager.</p>

        """
    )

    private static let chosenTemplate = PageTemplate(
        """
        <p>The link is used up. From now on you sign in with this password.</p>
        <p><a class="button" href="{{address}}">Sign in</a></p>

        """
    )

    private static let credentialsTemplate = PageTemplate(
        """
        <p>You are signed in as <strong>{{user}}</strong>{{#hasAccount}} ({{account}}){{/hasAccount}}.</p>
        {{#hasRemark}}<p role="alert"><strong>{{remark}}</strong></p>{{/hasRemark}}
        <h2>Change the password</h2>
        <form method="post" action="{{action}}">
        {{#hidden}}<input type="hidden" name="{{field}}" value="{{sealed}}">{{/hidden}}
        <label for="password">Current password</label>
        <input class="entry" type="password" id="password" name="password" required autocomplete="current-password">
        <label for="new_password">New password, at least 12 characters</label>
        <input class="entry" type="password" id="new_password" name="new_password" required autocomplete="new-password">
        <label for="repeat_password">The same once more</label>
        <input class="entry" type="password" id="repeat_password" name="repeat_password" required autocomplete="new-password">
        <button class="button" name="action" value="password">Change the password</button>
        </form>
        <p class="fine">This signs you out everywhere else.</p>
        {{#isOn}}
        <h2>Codes at sign-in</h2>
        <p>An authenticator app is set up. You have {{left}} recovery codes left.</p>
        <form method="post" action="{{action}}">
        {{#hidden}}<input type="hidden" name="{{field}}" value="{{sealed}}">{{/hidden}}
        <label for="password_remove">Current password</label>
        <input class="entry" type="password" id="password_remove" name="password" required autocomplete="current-password">
        <button class="button" name="action" value="remove">Remove the authenticator app</button>
        </form>
        {{/isOn}}
        {{^isOn}}
        <h2>Add codes at sign-in</h2>
        <p>Open the link on the device with your authenticator app, or type the secret there.</p>
        <p><a href="{{link}}">Open in an authenticator app</a></p>
        <p><code>{{secret}}</code></p>
        <form method="post" action="{{action}}">
        {{#hidden}}<input type="hidden" name="{{field}}" value="{{sealed}}">{{/hidden}}
        <input type="hidden" name="enrolment" value="{{enrolment}}">
        <label for="code">The six digits that the app shows</label>
        <input class="entry" id="code" name="code" required maxlength="16" inputmode="numeric" autocomplete="one-time-code">
        <label for="password_enrol">Current password</label>
        <input class="entry" type="password" id="password_enrol" name="password" required autocomplete="current-password">
        <button class="button" name="action" value="enrol">Add the authenticator app</button>
        </form>
        {{/isOn}}

        """
    )

    private static let recoveryTemplate = PageTemplate(
        """
        <p>The authenticator app is set up. If you lose it, each of these codes signs you in once. They are shown only now.</p>
        <ul class="codes">{{#codes}}<li>{{.}}</li>{{/codes}}</ul>
        <p><a class="button" href="{{address}}">I have written them down</a></p>

        """
    )

    private static let changedTemplate = PageTemplate(
        """
        <p role="status">{{text}}</p>
        <p><a class="button" href="{{address}}">Continue</a></p>

        """
    )
}

/// What the page about credentials shows of the second factor.
package enum SecondFactorView {
    /// It is on, with so many recovery codes left.
    case on(recoveryCodes: Int)
    /// It is off: the secret to add as text and as a link, and sealed for the form.
    case off(secret: String, link: String, enrolment: String)

    fileprivate var values: [String: Any] {
        switch self {
        case .on(let left): ["isOn": true, "left": left]
        case .off(let secret, let link, let enrolment):
            ["isOn": false, "secret": secret, "link": link, "enrolment": enrolment]
        }
    }
}
