// SPDX-License-Identifier: Apache-2.0

// The pages about the accounts that a user has connected.
extension Pages {
    /// The page with a user's connected accounts.
    package func connected(_ view: ConnectedView, user: PageContext.User, in language: PageLanguage) -> String {
        let values = view.values(in: language).merging(Pages.values(of: user)) { $1 }
        return self.render(.connected, title: language.template(.connectedTitle), values, in: language)
    }

    /// The question whether an account is to be connected.
    package func connect(
        _ view: ConnectView,
        _ form: AccountForm,
        user: PageContext.User,
        in language: PageLanguage
    ) -> String {
        let values = form.values(in: language).merging(view.values) { $1 }.merging(Pages.values(of: user)) { $1 }
        return self.render(.connect, title: language.template(.connectTitle), values, in: language)
    }

    static let connectedTemplates: [PageName: PageTemplate] = [
        .connected: connectedTemplate, .connect: connectTemplate,
    ]

    private static let connectedTemplate = PageTemplate(
        """
        <p>{{t.signed_in_as}}</p>
        {{#hasChanged}}<p role="status"><strong>{{t.connected_changed}}</strong></p>{{/hasChanged}}
        {{#hasRemark}}<p role="alert"><strong>{{remark}}</strong></p>{{/hasRemark}}
        <p>{{#forwardsFirst}}{{t.connected_first}}{{/forwardsFirst}}{{^forwardsFirst}}{{t.connected_used}}{{/forwardsFirst}}</p>
        {{#hasAccounts}}
        <ul class="sessions">
        {{#accounts}}
        <li><span><strong>{{name}}</strong>{{#isHere}} <small class="tag">{{t.connected_here}}</small>{{/isHere}}\
        <small>{{provider}}{{#isFirst}}, {{t.connected_main}}{{/isFirst}}{{^isFirst}}, {{t.connected_added}}{{/isFirst}}</small></span>
        {{^isFirst}}{{#mayChange}}<form method="post" action="{{action}}">
        {{#hidden}}<input type="hidden" name="{{field}}" value="{{sealed}}">{{/hidden}}
        <button class="button" name="{{removeField}}" value="{{id}}" aria-label="{{t.connected_remove}}: {{name}}">{{t.connected_remove}}</button>
        </form>{{/mayChange}}{{/isFirst}}</li>
        {{/accounts}}
        </ul>
        {{/hasAccounts}}
        <section>
        {{#mayChange}}
        <h2>{{t.connected_add}}</h2>
        <ul class="buttons">
        {{#buttons}}
        <li><a class="button" href="{{address}}">{{#hasPicture}}<img src="{{picture}}" alt="" width="20" height="20">{{/hasPicture}}\
        <span>{{text}}</span></a></li>
        {{/buttons}}
        </ul>
        {{/mayChange}}
        {{^mayChange}}
        <p>{{t.connected_confirm}}</p>
        \(confirmation)
        {{/mayChange}}
        </section>
        <p class="fine"><a href="{{accountAddress}}">{{t.show_account}}</a></p>

        """
    )

    private static let connectTemplate = PageTemplate(
        """
        <p>{{t.signed_in_as}}</p>
        <p>{{t.connect_text}}</p>
        {{#forwardsFirst}}<p>{{t.connect_first}}</p>{{/forwardsFirst}}
        <p><strong>{{t.connect_warning}}</strong></p>
        <form method="post" action="{{action}}">
        {{#hidden}}<input type="hidden" name="{{field}}" value="{{sealed}}">{{/hidden}}
        <ul class="buttons">
        <li><button class="button primary">{{t.connect_allow}}</button></li>
        <li><a class="button" href="{{cancel}}"><span>{{t.cancel}}</span></a></li>
        </ul>
        </form>

        """
    )
}
