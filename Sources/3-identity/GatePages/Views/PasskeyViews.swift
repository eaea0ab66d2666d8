// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// A form that asks the browser for a passkey.
package struct PasskeyForm {
    /// What the browser is asked for.
    package enum Request: String {
        /// A new passkey.
        case create
        /// The use of one.
        case get
        /// The same, also offered by the browser beside the field for the name.
        case autofill
    }

    /// The name of the field with what the browser returns.
    package static let credential = "credential"
    /// The name of the field with the name of a new passkey.
    package static let name = "name"
    /// The name of the field with the passkey to remove.
    package static let removed = "remove"

    private let form: AccountForm
    private let request: Request
    private let options: JSON

    /// - Parameters:
    ///   - form: Where the form leads, with its hidden fields and a remark.
    ///   - request: What the browser is asked for.
    ///   - options: The options of WebAuthn as JSON.
    package init(_ form: AccountForm, _ request: Request, options: JSON) {
        (self.form, self.request, self.options) = (form, request, options)
    }

    /// The values of a template.
    func values(in language: PageLanguage) -> [String: Any] {
        let values: [String: Any] = [
            "request": self.request.rawValue, "options": String(decoding: self.options.encoded, as: UTF8.self),
            "credentialField": PasskeyForm.credential,
        ]
        return self.form.values(in: language).merging(values) { $1 }
    }
}

/// What the page about a user's passkeys shows.
package struct PasskeysView {
    package struct Passkey {
        let id: String
        let name: String
        let added: Instant
        let used: Instant?
        let isSynced: Bool

        /// A passkey of these properties; `id` is the value of the field that removes it.
        package init(id: String, name: String, added: Instant, used: Instant?, isSynced: Bool) {
            (self.id, self.name, self.added, self.used, self.isSynced) = (id, name, added, used, isSynced)
        }
    }

    /// What a user may do on the page.
    package enum State {
        /// Add a passkey by a form, and remove others.
        case confirmed(PasskeyForm)
        /// Use a passkey first.
        case usesPasskey(PasskeyForm)
        /// Sign in first; with a remark about what was sent.
        case signsIn(address: String, remark: PageRemark?)
    }

    private let passkeys: [Passkey]
    private let state: State
    private let suggestedName: String
    private let hasChanged: Bool
    private let account: String

    /// - Parameters:
    ///   - passkeys: The passkeys.
    ///   - state: What the user may do.
    ///   - suggestedName: The name that a new one gets unless the user types another.
    ///   - hasChanged: Whether they have just changed.
    ///   - account: The page of the account.
    package init(
        _ passkeys: [Passkey],
        _ state: State,
        suggestedName: String,
        hasChanged: Bool,
        account: String
    ) {
        (self.passkeys, self.state) = (passkeys, state)
        (self.suggestedName, self.hasChanged, self.account) = (suggestedName, hasChanged, account)
    }

    /// The values of a template.
    func values(in language: PageLanguage) -> [String: Any] {
        let values: [String: Any] = [
            "hasPasskeys": !self.passkeys.isEmpty, "suggested": self.suggestedName, "hasChanged": self.hasChanged,
            "accountAddress": self.account, "nameField": PasskeyForm.name, "removeField": PasskeyForm.removed,
            "passkeys": self.passkeys.map { passkey in
                [
                    "id": passkey.id, "name": passkey.name, "added": passkey.added.pageText,
                    "hasUsed": passkey.used != nil, "used": passkey.used?.pageText ?? "", "isSynced": passkey.isSynced,
                ] as [String: Any]
            },
        ]
        return self.state.values(in: language).merging(values) { $1 }
    }
}

extension PasskeysView.State {
    /// The values of a template.
    func values(in language: PageLanguage) -> [String: Any] {
        var values: [String: Any] = ["mayChange": false, "usesPasskey": false, "signsIn": false, "confirmation": ""]
        let form: [String: Any]
        switch self {
        case .confirmed(let asked):
            values["mayChange"] = true
            form = asked.values(in: language)
        case .usesPasskey(let asked):
            values["usesPasskey"] = true
            form = asked.values(in: language)
        case .signsIn(let address, let remark):
            (values["signsIn"], values["confirmation"]) = (true, address)
            form = AccountForm(action: "", hidden: [], remark: remark).values(in: language)
        }
        return form.merging(values) { $1 }
    }
}
