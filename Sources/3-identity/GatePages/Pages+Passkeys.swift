// SPDX-License-Identifier: Apache-2.0

// The pages about passkeys.
extension Pages {
    /// The page that asks a signed-in user for a passkey, or offers to add the first one.
    ///
    /// - Parameters:
    ///   - form: The form; nil if the user has no passkey.
    ///   - user: Who is signed in.
    ///   - passkeys: The page on which passkeys are added.
    ///   - language: The language.
    /// - Returns: The page.
    package func passkey(
        _ form: PasskeyForm?,
        user: PageContext.User,
        passkeys: String,
        in language: PageLanguage
    ) -> String {
        var values = Pages.values(of: user)
        (values["hasPasskey"], values["passkeysAddress"]) = (form != nil, passkeys)
        let all = (form?.values(in: language) ?? [:]).merging(values) { $1 }
        return self.render(.passkey, title: language.template(.passkeyTitle), all, in: language)
    }

    /// The page with a user's passkeys.
    package func passkeys(_ view: PasskeysView, user: PageContext.User, in language: PageLanguage) -> String {
        let values = view.values(in: language).merging(Pages.values(of: user)) { $1 }
        return self.render(.passkeys, title: language.template(.passkeysTitle), values, in: language)
    }

    static let passkeyTemplates: [PageName: PageTemplate] = [.passkey: passkeyTemplate, .passkeys: passkeysTemplate]

    /// What the script of a form shows.
    static let passkeyErrors = """
        <p role="alert" data-error="cancelled" hidden>{{t.passkey_cancelled}}</p>
        <p role="alert" data-error="failed" hidden>{{t.passkey_failed}}</p>
        <p role="alert" data-error="registered" hidden>{{t.passkey_registered}}</p>
        <p role="alert" data-error="unsupported" hidden>{{t.passkey_unsupported}}</p>
        """

    /// The form with which a user uses a passkey.
    private static let useForm = """
        <form method="post" action="{{action}}" data-passkey="{{request}}" data-options="{{options}}">
        {{#hidden}}<input type="hidden" name="{{field}}" value="{{sealed}}">{{/hidden}}
        <input type="hidden" name="{{credentialField}}">
        <button class="button primary">{{t.passkey_use}}</button>
        \(noScript)
        \(passkeyErrors)
        </form>
        """

    /// How a user confirms the session.
    static let confirmation = """
        {{#usesPasskey}}
        \(useForm)
        <script src="{{script}}" defer></script>
        {{/usesPasskey}}
        {{#signsIn}}
        <p><a class="button primary" href="{{confirmation}}"><span>{{t.passkeys_confirm_button}}</span></a></p>
        {{/signsIn}}
        """

    private static let noScript = "<noscript><p>{{t.passkey_no_script}}</p></noscript>"

    private static let passkeyTemplate = PageTemplate(
        """
        <p>{{t.signed_in_as}}</p>
        {{#hasPasskey}}
        <p>{{t.passkey_intro}}</p>
        {{#hasRemark}}<p role="alert"><strong>{{remark}}</strong></p>{{/hasRemark}}
        \(useForm)
        <p class="fine"><a href="{{passkeysAddress}}">{{t.passkeys_title}}</a></p>
        <script src="{{script}}" defer></script>
        {{/hasPasskey}}
        {{^hasPasskey}}
        <p>{{t.passkey_none}}</p>
        <p><a class="button primary" href="{{passkeysAddress}}"><span>{{t.passkey_add}}</span></a></p>
        {{/hasPasskey}}

        """
    )

    private static let passkeysTemplate = PageTemplate(
        """
        <p>{{t.signed_in_as}}</p>
        {{#hasChanged}}<p role="status"><strong>{{t.passkeys_changed}}</strong></p>{{/hasChanged}}
        {{#hasRemark}}<p role="alert"><strong>{{remark}}</strong></p>{{/hasRemark}}
        <p>{{t.passkeys_intro}}</p>
        {{^hasPasskeys}}<p>{{t.passkeys_empty}}</p>{{/hasPasskeys}}
        {{#hasPasskeys}}
        <ul class="sessions">
        {{#passkeys}}
        <li><span><strong>{{name}}</strong>{{#isSynced}} <small class="tag">{{t.passkeys_synced}}</small>{{/isSynced}}\
        <small>{{t.passkeys_added}}{{#hasUsed}}, {{t.passkeys_used}}{{/hasUsed}}</small></span>
        {{#mayChange}}<form method="post" action="{{action}}">
        {{#hidden}}<input type="hidden" name="{{field}}" value="{{sealed}}">{{/hidden}}
        <button class="button" name="{{removeField}}" value="{{id}}" aria-label="{{t.passkeys_remove}}: {{name}}">{{t.passkeys_remove}}</button>
        </form>{{/mayChange}}</li>
        {{/passkeys}}
        </ul>
        {{/hasPasskeys}}
        {{#mayChange}}
        <section>
        <h2>{{t.passkey_add}}</h2>
        <form method="post" action="{{action}}" data-passkey="{{request}}" data-options="{{options}}">
        {{#hidden}}<input type="hidden" name="{{field}}" value="{{sealed}}">{{/hidden}}
        <input type="hidden" name="{{credentialField}}">
        <label for="name">{{t.passkeys_name}}</label>
        <input class="field" id="name" name="{{nameField}}" value="{{suggested}}" required maxlength="60" autocomplete="off">
        <button class="button primary">{{t.passkey_add}}</button>
        \(noScript)
        \(passkeyErrors)
        </form>
        </section>
        <script src="{{script}}" defer></script>
        {{/mayChange}}
        {{^mayChange}}
        <section>
        <p>{{t.passkeys_confirm}}</p>
        \(confirmation)
        {{#hasPasskeys}}<p class="fine">{{t.passkeys_lost}}</p>{{/hasPasskeys}}
        </section>
        {{/mayChange}}
        <p class="fine"><a href="{{accountAddress}}">{{t.show_account}}</a></p>

        """
    )
}
