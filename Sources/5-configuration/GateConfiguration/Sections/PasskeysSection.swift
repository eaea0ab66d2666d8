// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GatePasskeys
internal import GateYAML

/// `passkeys` as the file has it.
struct PasskeysDraft: Sendable {
    var rpID: Located<String>?
    var name: String?
    fileprivate(set) var mark = YAMLMark.start

    /// For whom passkeys are at a gateway of this URL.
    ///
    /// - Throws: The rule that the URL or `rp_id` breaks.
    func relyingParty(at publicURL: Origin, organization: String?) throws(PasskeyError) -> PasskeyRelyingParty {
        let id = self.rpID?.value ?? publicURL.host
        return try PasskeyRelyingParty(id: id, name: self.name ?? organization ?? id, origins: [publicURL])
    }
}

extension Mapping<PasskeysDraft> {
    static let passkeys = Mapping(
        "the passkeys",
        path: "passkeys",
        summary: "Passkeys of users (WebAuthn); off without this section, on with an empty one (`passkeys: {}`). See "
            + "[passkeys.md](passkeys.md).",
        make: { PasskeysDraft() },
        keys: [
            Key(
                "rp_id",
                located: \.rpID,
                .host,
                .init(default: .words("the host of `public_url`"), example: "example.com"),
                "The domain that passkeys belong to: the host of `public_url`, or a domain that it is in, so that they outlive a change of "
                    + "the host. To change it is to lose all passkeys."
            ),
            Key(
                "name",
                \.name,
                .text,
                .init(default: .words("`pages.organization`, or `rp_id`"), example: "Acme"),
                "The name that browsers and password managers show with a passkey."
            ),
        ],
        check: { passkeys, written, _ in passkeys.mark = written.mark }
    )
}
