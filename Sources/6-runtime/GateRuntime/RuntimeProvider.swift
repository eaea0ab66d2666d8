// SPDX-License-Identifier: Apache-2.0

package import GateAccounts
package import GateCore
package import GateOpenID
package import GateOperations
package import GatePages
package import GateProviders

/// A provider, ready for sign-ins.
package struct RuntimeProvider: Sendable {
    /// The name in the configuration file.
    package let id: String
    package let label: ProviderLabel
    private let method: SignInMethod
    /// The path of the file with the mark on its button.
    package let icon: String?
    /// The domains of email addresses whose users sign in here.
    package let domains: Set<String>
    /// Whether the latest call to it has failed, a short time ago.
    package let isFailing: @Sendable () -> Bool
    /// Limits the sign-ins that wait for this provider, so that a slow one does not use up the sign-ins of the others.
    package let waiting = ConcurrencyLimiter(limit: 400)
    /// Limits the logouts of this provider that are in progress.
    package let logouts = ConcurrencyLimiter(limit: 100)

    /// How its users sign in.
    private enum SignInMethod: Sendable {
        /// At a server, with the code flow.
        case server(RelyingParty, ProviderReachability)
        /// Here, with a password.
        case accounts(LocalAccounts)
    }

    /// A provider of the configuration.
    package init(
        id: String,
        label: ProviderLabel,
        relyingParty: RelyingParty,
        reach: ProviderReachability,
        icon: String? = nil,
        domains: Set<String> = [],
        isFailing: @escaping @Sendable () -> Bool = { false }
    ) {
        self.id = id
        self.isFailing = isFailing
        self.icon = icon
        self.domains = domains
        self.label = label
        self.method = .server(relyingParty, reach)
    }

    /// A provider of the configuration with local accounts.
    package init(
        id: String,
        label: ProviderLabel,
        accounts: LocalAccounts,
        icon: String? = nil,
        domains: Set<String> = []
    ) {
        self.id = id
        self.icon = icon
        self.domains = domains
        self.isFailing = { false }
        self.label = label
        self.method = .accounts(accounts)
    }

    /// The code flow with it; nil for local accounts.
    package var relyingParty: RelyingParty? {
        guard case .server(let party, _) = self.method else { return nil }
        return party
    }

    /// Whether its hosts may be called; nil for local accounts.
    package var reach: ProviderReachability? {
        guard case .server(_, let reach) = self.method else { return nil }
        return reach
    }

    /// The local accounts; nil for a server.
    package var accounts: LocalAccounts? {
        guard case .accounts(let accounts) = self.method else { return nil }
        return accounts
    }

    /// What its button is labelled with on a page.
    package var buttonLabel: PageButton.Label {
        switch self.label {
        case .signIn(let name): .provider(name)
        case .password: .text(.signInWithPassword)
        case .custom(let text): .fixed(text)
        }
    }

    package var busy: Failure { Failure(.providerBusy, "too many sign-ins wait for \(self.id)") }
}
