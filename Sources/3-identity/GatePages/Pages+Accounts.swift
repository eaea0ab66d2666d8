// SPDX-License-Identifier: Apache-2.0

// The pages of local accounts: the sign-in form, links, the password and the second factor.
extension Pages {
    /// The form for the name and the password.
    package func password(
        _ form: AccountForm,
        name: String,
        app: (name: String, icon: String?)?,
        passkey: PasskeyForm? = nil,
        recover: String? = nil,
        join: String? = nil,
        in language: PageLanguage
    ) -> String {
        let values: [String: Any] = [
            "name": name, "app": app?.name ?? "", "hasApp": app != nil, "appIcon": app?.icon ?? "",
            "hasAppIcon": app?.icon != nil, "offersPasskey": passkey != nil,
            "offersRecovery": recover != nil, "recoverAddress": recover ?? "", "offersJoin": join != nil,
            "joinAddress": join ?? "",
        ]
        let forms = (passkey?.values(in: language) ?? [:]).merging(form.values(in: language)) { $1 }
        let all = forms.merging(values) { $1 }
        return self.render(.password, title: language.template(.signIn), all, in: language)
    }

    /// The form for the code after the password.
    package func code(_ form: AccountForm, in language: PageLanguage) -> String {
        self.render(.code, title: language.template(.codeTitle), form.values(in: language), in: language)
    }

    /// The form in which a user chooses a password by a link.
    ///
    /// - Parameters:
    ///   - form: The form.
    ///   - account: The email address or user name of the account.
    ///   - fullName: What the field for the full name has at first; nil if it is not asked for.
    ///   - language: The language.
    /// - Returns: The page.
    package func choosePassword(
        _ form: AccountForm,
        account: String,
        fullName: String? = nil,
        in language: PageLanguage
    ) -> String {
        let own: [String: Any] = ["name": account, "asksForName": fullName != nil, "fullName": fullName ?? ""]
        let values = form.values(in: language).merging(own) { $1 }
        return self.render(.choosePassword, title: language.template(.chooseTitle), values, in: language)
    }

    /// The page after that.
    package func passwordChosen(signIn address: String, in language: PageLanguage) -> String {
        self.render(.passwordChosen, title: language.template(.chosenTitle), ["address": address], in: language)
    }

    /// The page on which a user changes the password and the second factor.
    ///
    /// - Parameters:
    ///   - form: What its forms have in common.
    ///   - user: Who is signed in.
    ///   - factor: The second factor: the number of recovery codes that are left, or a secret to add.
    ///   - language: The language.
    /// - Returns: The page.
    package func credentials(
        _ form: AccountForm,
        user: PageContext.User,
        factor: SecondFactorView,
        in language: PageLanguage
    ) -> String {
        let values = Pages.values(of: user).merging(form.values(in: language)) { $1 }.merging(factor.values) { $1 }
        return self.render(.credentials, title: language.template(.credentialsTitle), values, in: language)
    }

    /// The page with the recovery codes, which are shown once.
    package func recoveryCodes(_ codes: [String], back address: String, in language: PageLanguage) -> String {
        let values: [String: Any] = ["codes": codes, "address": address]
        return self.render(.recoveryCodes, title: language.template(.recoveryTitle), values, in: language)
    }

    /// The page after a change.
    package func credentialsChanged(_ text: PageText, back address: String, in language: PageLanguage) -> String {
        let values: [String: Any] = ["text": language.template(text).value, "address": address]
        return self.render(.credentialsChanged, title: language.template(.credentialsDone), values, in: language)
    }

    /// The form for the email address to which a link is sent: to choose another password, or to register.
    ///
    /// - Parameters:
    ///   - form: The form.
    ///   - domains: The domains of email addresses that may register; nil if it is about another password.
    ///   - address: What the user has typed already.
    ///   - back: The form for name and password.
    ///   - language: The language.
    /// - Returns: The page.
    package func askForLink(
        _ form: AccountForm,
        domains: [String]?,
        address: String,
        back: String,
        in language: PageLanguage
    ) -> String {
        let values: [String: Any] = [
            "isRegistration": domains != nil, "domains": (domains ?? []).joined(separator: ", "), "address": address,
            "back": back,
        ]
        let title = domains == nil ? PageText.recoverTitle : .joinTitle
        let all = form.values(in: language).merging(values) { $1 }
        return self.render(.askForLink, title: language.template(title), all, in: language)
    }

    /// The page after that, the same whether or not there is an account.
    package func linkSent(back address: String, in language: PageLanguage) -> String {
        self.render(.linkSent, title: language.template(.mailSentTitle), ["address": address], in: language)
    }

    static let accounts: [PageName: PageTemplate] = [
        .askForLink: askForLinkTemplate, .linkSent: linkSentTemplate,
        .password: passwordTemplate, .code: codeTemplate, .choosePassword: chooseTemplate,
        .passwordChosen: chosenTemplate, .credentials: credentialsTemplate, .recoveryCodes: recoveryTemplate,
        .credentialsChanged: changedTemplate,
    ]

    /// The beginning of each form, with its hidden fields.
    private static let beginning = """
        <form method="post" action="{{action}}">
        {{#hidden}}<input type="hidden" name="{{field}}" value="{{sealed}}">{{/hidden}}
        """

    /// The fields for a new password.
    private static let newPassword = """
        <label for="new_password">{{t.choose_new}}</label>
        <input class="field" type="password" id="new_password" name="new_password" required autocomplete="new-password">
        <label for="repeat_password">{{t.choose_repeat}}</label>
        <input class="field" type="password" id="repeat_password" name="repeat_password" required autocomplete="new-password">
        """

    private static let passwordTemplate = PageTemplate(
        """
        {{#hasApp}}<p class="target">{{#hasAppIcon}}<img src="{{appIcon}}" alt="" width="24" height="24"> {{/hasAppIcon}}\
        <span>{{t.chooser_intro}}</span></p>{{/hasApp}}
        {{#hasRemark}}<p role="alert"><strong>{{remark}}</strong></p>{{/hasRemark}}
        \(beginning)
        <label for="username">{{t.account_form_name}}</label>
        <input class="field" id="username" name="username" value="{{name}}" required maxlength="320" \
        autocomplete="username{{#offersPasskey}} webauthn{{/offersPasskey}}" autocapitalize="none" spellcheck="false">
        <label for="password">{{t.account_form_password}}</label>
        <input class="field" type="password" id="password" name="password" required autocomplete="current-password">
        <button class="button primary">{{t.sign_in}}</button>
        </form>
        {{#offersPasskey}}
        <form class="more" method="post" action="{{action}}" data-passkey="{{request}}" data-options="{{options}}" hidden>
        {{#hidden}}<input type="hidden" name="{{field}}" value="{{sealed}}">{{/hidden}}
        <input type="hidden" name="{{credentialField}}">
        <button class="button">{{t.passkey_sign_in}}</button>
        \(passkeyErrors)
        </form>
        <script src="{{script}}" defer></script>
        {{/offersPasskey}}
        {{#offersRecovery}}<p class="fine"><a href="{{recoverAddress}}">{{t.recover_link}}</a>\
        {{#offersJoin}} · <a href="{{joinAddress}}">{{t.join_link}}</a>{{/offersJoin}}</p>{{/offersRecovery}}
        {{^offersRecovery}}<p class="fine">{{t.account_form_forgotten}}</p>{{/offersRecovery}}

        """
    )

    private static let askForLinkTemplate = PageTemplate(
        """
        {{#isRegistration}}<p>{{t.join_intro}}</p>
        <p class="fine">{{t.join_domains}}</p>{{/isRegistration}}
        {{^isRegistration}}<p>{{t.recover_intro}}</p>{{/isRegistration}}
        {{#hasRemark}}<p role="alert"><strong>{{remark}}</strong></p>{{/hasRemark}}
        \(beginning)
        <label for="email">{{t.mail_address}}</label>
        <input class="field" id="email" name="email" type="email" value="{{address}}" required maxlength="254" autocomplete="email">
        <button class="button primary">{{t.mail_send}}</button>
        </form>
        <p class="fine"><a href="{{back}}">{{t.sign_in}}</a></p>

        """
    )

    private static let linkSentTemplate = PageTemplate(
        """
        <p role="status">{{t.mail_sent}}</p>
        <p><a class="button" href="{{address}}"><span>{{t.sign_in}}</span></a></p>

        """
    )

    private static let codeTemplate = PageTemplate(
        """
        {{#hasRemark}}<p role="alert"><strong>{{remark}}</strong></p>{{/hasRemark}}
        \(beginning)
        <label for="code">{{t.code_label}}</label>
        <input class="field" id="code" name="code" required maxlength="32" autocomplete="one-time-code" \
        autocapitalize="characters" spellcheck="false">
        <button class="button primary">{{t.continue}}</button>
        </form>

        """
    )

    private static let chooseTemplate = PageTemplate(
        """
        {{#hasRemark}}<p role="alert"><strong>{{remark}}</strong></p>{{/hasRemark}}
        \(beginning)
        <label for="username">{{t.show_account}}</label>
        <input class="field" id="username" name="username" value="{{name}}" readonly autocomplete="username">
        {{#asksForName}}<label for="name">{{t.join_name}}</label>
        <input class="field" id="name" name="name" value="{{fullName}}" maxlength="100" autocomplete="name">{{/asksForName}}
        \(newPassword)
        <button class="button primary">{{t.choose_button}}</button>
        </form>
        <p class="fine">{{t.choose_note}}</p>

        """
    )

    private static let chosenTemplate = PageTemplate(
        """
        <p>{{t.chosen_text}}</p>
        <p><a class="button primary" href="{{address}}"><span>{{t.sign_in}}</span></a></p>

        """
    )

    private static let credentialsTemplate = PageTemplate(
        """
        <p>{{t.signed_in_as}}</p>
        {{#hasRemark}}<p role="alert"><strong>{{remark}}</strong></p>{{/hasRemark}}
        <section>
        <h2>{{t.credentials_change}}</h2>
        \(beginning)
        <label for="password">{{t.credentials_current}}</label>
        <input class="field" type="password" id="password" name="password" required autocomplete="current-password">
        \(newPassword)
        <button class="button primary" name="action" value="password">{{t.credentials_change}}</button>
        </form>
        <p class="fine">{{t.credentials_ends}}</p>
        </section>
        <section>
        {{#isOn}}
        <h2>{{t.factor_title}}</h2>
        <p>{{t.factor_left}}</p>
        \(beginning)
        <label for="password_remove">{{t.credentials_current}}</label>
        <input class="field" type="password" id="password_remove" name="password" required autocomplete="current-password">
        <label for="code_remove">{{t.code_label}}</label>
        <input class="field" id="code_remove" name="code" required maxlength="32" autocomplete="one-time-code" \
        autocapitalize="characters" spellcheck="false">
        <button class="button" name="action" value="remove">{{t.factor_remove}}</button>
        </form>
        {{/isOn}}
        {{^isOn}}
        <h2>{{t.factor_add_title}}</h2>
        <p>{{t.factor_add_intro}}</p>
        <p><a href="{{link}}">{{t.factor_open}}</a></p>
        <p><code>{{secret}}</code></p>
        \(beginning)
        <input type="hidden" name="enrolment" value="{{enrolment}}">
        <label for="code">{{t.factor_digits}}</label>
        <input class="field" id="code" name="code" required maxlength="16" inputmode="numeric" autocomplete="one-time-code">
        <label for="password_enrol">{{t.credentials_current}}</label>
        <input class="field" type="password" id="password_enrol" name="password" required autocomplete="current-password">
        <button class="button" name="action" value="enrol">{{t.factor_add}}</button>
        </form>
        {{/isOn}}
        </section>

        """
    )

    private static let recoveryTemplate = PageTemplate(
        """
        <p>{{t.recovery_text}}</p>
        <ul class="codes">{{#codes}}<li>{{.}}</li>{{/codes}}</ul>
        <p><a class="button primary" href="{{address}}"><span>{{t.recovery_kept}}</span></a></p>

        """
    )

    private static let changedTemplate = PageTemplate(
        """
        <p role="status">{{text}}</p>
        <p><a class="button primary" href="{{address}}"><span>{{t.continue}}</span></a></p>

        """
    )
}
