// SPDX-License-Identifier: Apache-2.0

package import GateClients
package import GateCore
package import GateMail
package import GatePages
package import GatePasskeys
package import GateProviders

/// The content of `providers.yaml`, validated and with every default filled in.
package struct Configuration: Sendable, Hashable {
    /// The gateway itself: URL, listeners, state, secrets.
    package var gateway: GatewaySettings
    /// Where sessions are stored and how long they last.
    package var sessions: SessionSettings
    /// The signed identity that apps receive.
    package var assertion: AssertionSettings
    /// Where log lines go, and what they hold.
    package var logs = LogSettings()
    /// How the gateway's own pages look and speak.
    package var pages = PageSettings()
    /// For whom passkeys are; nil if they are off.
    package var passkeys: PasskeyRelyingParty?
    /// Which user key apps get for a user with connected accounts; nil if users cannot connect any.
    package var connectedAccounts: ConnectedKey?
    /// The server through which links for local accounts are sent; nil without one.
    package var mail: MailServer?
    /// The providers, in the order of the file.
    package var providers: [ProviderSettings]
    /// The issuers whose tokens machines bring, in the order of the file.
    package var issuers: [IssuerSettings] = []
    /// The service tokens, in the order of the file.
    package var serviceTokens: [ServiceTokenSettings] = []
    /// The applications that sign users in at the gateway, in the order of the file.
    package var clients: [ClientSettings] = []
    /// Whether there are clients, so that tokens for them are issued.
    package var hasClients: Bool { !self.clients.isEmpty || !self.gateway.clientRegistration.clients.isOff }
    /// The apps, in the order of the file.
    package var apps: [AppSettings]

    /// Puts the parts together.
    package init(
        gateway: GatewaySettings,
        sessions: SessionSettings,
        assertion: AssertionSettings,
        providers: [ProviderSettings],
        apps: [AppSettings]
    ) {
        self.gateway = gateway
        self.sessions = sessions
        self.assertion = assertion
        self.providers = providers
        self.apps = apps
    }
}

extension Configuration {
    /// All servers that the gateway calls about users: the providers, and the issuers with theirs.
    package var connected: [ProviderSettings] { self.servers + self.issuers.map(\.provider) }

    /// The providers that are servers: all but those of type `local`.
    package var servers: [ProviderSettings] { self.providers.filter { $0.type != .local } }
}

extension GatewaySettings {
    /// The callback of a provider, as it has to be registered.
    package func callback(of provider: String) -> String { self.endpoints.callback(of: provider, at: self.publicURL) }
}

/// The result of reading a configuration file: its values, or the errors.
package struct ConfigurationResult: Sendable {
    /// The values; nil when there is any error.
    package let configuration: Configuration?
    /// All errors and warnings, by location; at most 100, and a last line that counts the rest.
    package let diagnostics: [Diagnostic]
    /// The file itself and each file that its values depend on, to be watched for changes.
    package let files: [String]
    /// Names the content of all files as they were read.
    package let content: String
    /// Names the content of the configuration file as it was read, without those that it names.
    package let fileContent: String

    /// Puts the parts together.
    package init(
        configuration: Configuration?,
        diagnostics: [Diagnostic],
        files: [String],
        content: String = "",
        fileContent: String = ""
    ) {
        self.configuration = configuration
        self.diagnostics = diagnostics
        self.files = files
        self.content = content
        self.fileContent = fileContent
    }
}
