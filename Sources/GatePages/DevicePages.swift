// SPDX-License-Identifier: Apache-2.0

// The pages of a sign-in that a client without a browser has begun: RFC 8628 §3.3.
extension Pages {
    /// The name of the field with the code.
    package static let deviceField = "user_code"

    /// The page on which a user types the code of a device.
    ///
    /// - Parameters:
    ///   - action: Where the form leads.
    ///   - remark: What was wrong with the last code; nil at first.
    /// - Returns: The page.
    package static func device(action: String, remark: String?) -> String {
        let values: [String: Any] = [
            "action": action, "name": self.deviceField, "remark": remark ?? "", "hasRemark": remark != nil,
        ]
        return self.render(self.deviceTemplate, title: "Connect a device", values)
    }

    /// The page that asks a user whether a device may sign in.
    ///
    /// RFC 8628 §5.4: it shows the code, and warns of one that came in a message.
    ///
    /// - Parameters:
    ///   - view: The client, and the form.
    ///   - code: The code that the device shows.
    ///   - user: Who is signed in.
    /// - Returns: The page.
    package static func deviceConsent(_ view: ConsentView, code: String, user: PageContext.User) -> String {
        let values = self.values(of: user).merging(view.values) { $1 }.merging(["code": code]) { $1 }
        return self.render(self.deviceConsentTemplate, title: "Sign in to \(view.client) on a device?", values)
    }

    /// The page after the user has decided.
    package static func deviceDone(client: String, isAllowed: Bool) -> String {
        let title = isAllowed ? "The device is connected" : "The device was rejected"
        return self.render(self.deviceDoneTemplate, title: title, ["client": client, "allowed": isAllowed])
    }

    private static let deviceTemplate = PageTemplate(
        """
        {{#hasRemark}}<p role="alert"><strong>{{remark}}</strong></p>{{/hasRemark}}
        <form method="get" action="{{action}}">
        <label for="code">Type the code that the device shows.</label>
        <input class="field" id="code" name="{{name}}" required maxlength="32" placeholder="BCDF-GHJK" autocomplete="off" \
        autocapitalize="characters" spellcheck="false">
        <button class="button">Continue</button>
        </form>
        <p class="fine">Never type a code that you got in a message or a call: the sender would be signed in as you.</p>

        """
    )

    private static let deviceConsentTemplate = PageTemplate(
        """
        {{#hasUser}}
        <p>You are signed in as <strong>{{user}}</strong>{{#hasAccount}} ({{account}}){{/hasAccount}}.</p>
        {{/hasUser}}
        <p>Compare: the device that you want to connect shows</p>
        <p class="code">{{code}}</p>
        <p><strong>{{client}}</strong> asks to sign you in. It gets your name and your email address{{^hasApps}}.{{/hasApps}}{{#hasApps}},
        and until you sign out it can act for you in:{{/hasApps}}</p>
        {{#hasApps}}<ul>{{#apps}}<li>{{.}}</li>{{/apps}}</ul>{{/hasApps}}
        <p>If you did not start this on a device in front of you, cancel. The sender of the code or the link would be signed in
        as you.</p>
        <form method="post" action="{{action}}">
        <input type="hidden" name="{{field}}" value="{{sealed}}">
        <ul class="providers">
        <li><button class="button" type="submit" name="{{choice}}" value="{{allow}}">The codes are the same: sign in</button></li>
        <li><button class="button" type="submit" name="{{choice}}" value="{{deny}}">Cancel</button></li>
        </ul>
        </form>

        """
    )

    private static let deviceDoneTemplate = PageTemplate(
        """
        {{#allowed}}<p><strong>{{client}}</strong> signs you in on the device within some seconds. You can close this page.</p>{{/allowed}}
        {{^allowed}}<p>Nothing was signed in. If you did not start it, you need not do anything else.</p>{{/allowed}}

        """
    )
}
