// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateMail
internal import GatePages
internal import GateProviders
internal import GateYAML

/// Checks that messages can be sent where the file asks for them.
struct MailCheck {
    let draft: FileDraft
    let publicURL: Origin

    /// The mail server; nil without one, or if an error was reported.
    func server(_ reading: inout DecodingContext) -> MailServer? {
        guard let mail = self.draft.mail else {
            for provider in self.draft.providers ?? [] {
                guard let registration = provider.value.registration else { continue }
                reading.error("'registration' sends links by email; add 'mail' to the file", at: registration.mark)
            }
            return nil
        }
        do throws(MailFailure) {
            let organization = self.draft.pages?.settings.organization
            return try mail.server(at: self.publicURL, organization: organization)
        } catch {
            reading.error("the mail server cannot be used: \(error.detail)", at: mail.server?.mark ?? mail.mark)
            return nil
        }
    }
}
