// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// What the page about a user's connected accounts shows.
package struct ConnectedView {
    package struct Account {
        let id: String
        let name: String
        let provider: String
        let added: Instant
        let isFirst: Bool
        let isHere: Bool

        /// An account of these properties; `id` is the value of the field that disconnects it.
        package init(id: String, name: String, provider: String, added: Instant, isFirst: Bool, isHere: Bool) {
            (self.id, self.name, self.provider, self.added) = (id, name, provider, added)
            (self.isFirst, self.isHere) = (isFirst, isHere)
        }
    }

    /// What a user may do on the page.
    package enum State {
        /// Connect another account by these sign-ins, and disconnect others by a form with these fields.
        case confirmed([PageButton], AccountForm)
        /// Confirm the session first; with a remark about what was sent.
        case unconfirmed(PasskeysView.State)
    }

    /// The name of the field with the account to disconnect.
    package static let removed = "disconnect"

    private let accounts: [Account]
    private let state: State
    private let forwardsFirst: Bool
    private let hasChanged: Bool
    private let account: String

    /// - Parameters:
    ///   - accounts: The accounts, the first one first; none if none are connected.
    ///   - state: What the user may do.
    ///   - forwardsFirst: Whether apps know the user by the first account.
    ///   - hasChanged: Whether they have just changed.
    ///   - account: The page of the account.
    package init(
        _ accounts: [Account],
        _ state: State,
        forwardsFirst: Bool,
        hasChanged: Bool,
        account: String
    ) {
        (self.accounts, self.state, self.forwardsFirst) = (accounts, state, forwardsFirst)
        (self.hasChanged, self.account) = (hasChanged, account)
    }

    /// The values of a template.
    func values(in language: PageLanguage) -> [String: Any] {
        let state: [String: Any]
        var buttons: [PageButton] = []
        switch self.state {
        case .confirmed(let providers, let form):
            buttons = providers
            state = form.values(in: language).merging(["mayChange": true]) { $1 }
        case .unconfirmed(let unconfirmed): state = unconfirmed.values(in: language)
        }
        let values: [String: Any] = [
            "hasAccounts": !self.accounts.isEmpty, "forwardsFirst": self.forwardsFirst, "hasChanged": self.hasChanged,
            "accountAddress": self.account, "removeField": ConnectedView.removed,
            "accounts": self.accounts.map { account in
                [
                    "id": account.id, "name": account.name, "provider": account.provider,
                    "added": account.added.pageText, "isFirst": account.isFirst, "isHere": account.isHere,
                ] as [String: Any]
            },
            "buttons": buttons.map { $0.values(in: language) },
        ]
        return state.merging(values) { $1 }
    }
}

/// What the question shows whether an account is to be connected.
package struct ConnectView {
    private let name: String
    private let provider: String
    private let forwardsFirst: Bool
    private let cancel: String

    /// - Parameters:
    ///   - name: What the user recognizes the account by.
    ///   - provider: The name of its provider.
    ///   - forwardsFirst: Whether apps will no longer know the user by it.
    ///   - cancel: Where it is not connected.
    package init(name: String, provider: String, forwardsFirst: Bool, cancel: String) {
        (self.name, self.provider, self.forwardsFirst, self.cancel) = (name, provider, forwardsFirst, cancel)
    }

    /// The values of a template.
    var values: [String: Any] {
        ["name": self.name, "provider": self.provider, "forwardsFirst": self.forwardsFirst, "cancel": self.cancel]
    }
}
