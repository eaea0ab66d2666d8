// SPDX-License-Identifier: Apache-2.0

/// How the pages look and speak: `pages` in the file.
package struct PageSettings: Sendable, Hashable {
    /// The name of the organization, on each page.
    package var organization: String?
    /// The path of the file with its logo.
    package var logo: String?
    /// Where users find help: an email address or an https URL.
    package var support: String?
    /// The color of links and focus rings, `#rrggbb`; nil for that of the style sheet.
    package var accent: String?
    /// The same on dark pages; nil for that of the style sheet.
    package var darkAccent: String?
    /// The tags of the languages, the default first.
    package var languages: [String] = PageLanguage.builtIn.map(\.tag)
    /// The operator's texts, by language and name.
    package var texts: [String: [String: String]] = [:]
    /// The path of the folder with the operator's templates.
    package var templates: String?
    /// The path of a file with further styles.
    package var style: String?

    /// The maximum size of a template or of a style sheet in bytes.
    package static let maxFile = 64 << 10

    /// The settings without `pages`.
    package init() {}
}

/// A template of the pages; its raw value is the name of its file in `pages.templates`.
package enum PageName: String, CaseIterable, Sendable {
    /// What all pages share.
    case frame
    /// The accepted providers.
    case signIn = "sign_in"
    /// The buttons that sign out.
    case signOut = "sign_out"
    /// What follows a sign-out.
    case signedOut = "signed_out"
    /// A failure.
    case error
    /// The apps that a user may open.
    case apps
    /// The user, and where the user is signed in.
    case account
    /// Whether a client may sign the user in.
    case consent
    /// The field for the code of a device.
    case device
    /// Whether a device may sign the user in.
    case deviceConsent = "device_consent"
    /// What follows that.
    case deviceDone = "device_done"
    /// The name and the password of a local account.
    case password
    /// The email address for a link, to choose another password or to register.
    case askForLink = "ask_for_link"
    /// What follows that.
    case linkSent = "link_sent"
    /// The code after the password.
    case code
    /// A new password, by a link.
    case choosePassword = "choose_password"
    /// What follows that.
    case passwordChosen = "password_chosen"
    /// The password and the second factor of a local account.
    case credentials
    /// The recovery codes, which are shown once.
    case recoveryCodes = "recovery_codes"
    /// What follows a change of credentials.
    case credentialsChanged = "credentials_changed"
    /// The request for a passkey.
    case passkey
    /// The passkeys of a user.
    case passkeys
    /// The connected accounts of a user.
    case connected
    /// Whether an account is to be connected.
    case connect

    /// The name of the file in `pages.templates`.
    package var file: String { "\(self.rawValue).mustache" }
}
