// SPDX-License-Identifier: Apache-2.0

internal import GateClients
internal import GateCore
internal import GatePages
internal import GatePasskeys
internal import GatePolicy
internal import GateYAML

/// Checks that passkeys can be used where the file asks for them.
struct PasskeysCheck {
    let draft: FileDraft
    let publicURL: Origin
    let routes: [Route]

    /// For whom passkeys are; nil if they are off, or if an error was reported.
    func relyingParty(_ reading: inout DecodingContext) -> PasskeyRelyingParty? {
        guard let passkeys = self.draft.passkeys else {
            self.rejectRules(&reading)
            return nil
        }
        do throws(PasskeyError) {
            let organization = self.draft.pages?.settings.organization
            return try passkeys.relyingParty(at: self.publicURL, organization: organization)
        } catch {
            let help = "'rp_id' has to be the host of 'public_url', or a domain that it is in, and not an IP address"
            reading.error(
                "passkeys cannot be used: \(error.message); \(help)",
                at: passkeys.rpID?.mark ?? passkeys.mark
            )
            return nil
        }
    }

    /// A rule that asks for a passkey would lock its users out.
    private func rejectRules(_ reading: inout DecodingContext) {
        for entry in self.routes.flatMap({ $0.denied + $0.access.entries }).flatMap(\.withNested) {
            let asks = entry.request.contains { if case .passkey = $0 { true } else { false } }
            guard asks, let place = entry.place, let mark = reading.mark(of: place) else { continue }
            reading.error("'authenticated: passkey' needs passkeys; add 'passkeys: {}' to the file", at: mark)
        }
    }
}
