// SPDX-License-Identifier: Apache-2.0

// The pages of sign-ins that a client has begun.
extension Pages {
    /// The page that asks a user whether a client may sign them in.
    ///
    /// - Parameters:
    ///   - view: The client, and the form.
    ///   - target: Where the browser goes, as the user may recognize it.
    ///   - user: Who is signed in.
    ///   - language: The language.
    /// - Returns: The page.
    package func consent(
        _ view: ConsentView,
        target: String,
        user: PageContext.User,
        in language: PageLanguage
    ) -> String {
        let values = Pages.values(of: user).merging(view.values) { $1 }.merging(["target": target]) { $1 }
        return self.render(.consent, title: language.template(.consentTitle), values, in: language)
    }

    /// The name of the field with the code of a device.
    package static let deviceField = "user_code"

    /// The page on which a user types the code of a device: RFC 8628 §3.3.
    ///
    /// - Parameters:
    ///   - action: Where the form leads.
    ///   - remark: What was wrong with the last code; nil at first.
    ///   - language: The language.
    /// - Returns: The page.
    package func device(action: String, remark: PageText?, in language: PageLanguage) -> String {
        let values: [String: Any] = [
            "action": action, "name": Pages.deviceField, "hasRemark": remark != nil,
            "remark": remark.map { language.template($0).value } ?? "",
        ]
        return self.render(.device, title: language.template(.deviceTitle), values, in: language)
    }

    /// The page that asks a user whether a device may sign in.
    ///
    /// RFC 8628 §5.4: it shows the code, and warns of one that came in a message.
    ///
    /// - Parameters:
    ///   - view: The client, and the form.
    ///   - code: The code that the device shows.
    ///   - user: Who is signed in.
    ///   - language: The language.
    /// - Returns: The page.
    package func deviceConsent(
        _ view: ConsentView,
        code: String,
        user: PageContext.User,
        in language: PageLanguage
    ) -> String {
        let values = Pages.values(of: user).merging(view.values) { $1 }.merging(["code": code]) { $1 }
        return self.render(.deviceConsent, title: language.template(.deviceConsentTitle), values, in: language)
    }

    /// The page after the user has decided.
    package func deviceDone(client: String, isAllowed: Bool, in language: PageLanguage) -> String {
        let title = language.template(isAllowed ? .deviceDoneTitle : .deviceDeniedTitle)
        return self.render(.deviceDone, title: title, ["client": client, "allowed": isAllowed], in: language)
    }
}
