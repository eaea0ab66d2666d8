// SPDX-License-Identifier: Apache-2.0

package import GateClients
internal import GateCore
internal import GateYAML

/// `gateway.client_registration`: clients without an entry in `clients`.
package struct ClientRegistrationSettings: Sendable, Hashable {
    /// Which clients are accepted.
    package var clients = OpenClients()
    /// A PEM file with the only certificates to trust for their documents; nil for the system's.
    package var caFile: String?

    /// Settings that accept none.
    package init() {}
}

/// The same as the file has it.
struct ClientRegistrationDraft: Sendable {
    var byURL = false
    var hosts: Located<[String]>?
    var dynamic = false
    var caFile: String?

    var settings: ClientRegistrationSettings {
        var settings = ClientRegistrationSettings()
        settings.clients.byURL = self.byURL
        settings.clients.hosts = Set(self.hosts?.value ?? [])
        settings.clients.dynamic = self.dynamic
        settings.caFile = self.caFile
        return settings
    }
}

extension Mapping<ClientRegistrationDraft> {
    static let clientRegistration = Mapping(
        "the registration of clients",
        path: "gateway.client_registration",
        summary:
            "Clients without an entry in `clients`, for apps with `mcp: true` only: users are asked each time, and the rules of the "
            + "app decide. See [mcp.md](mcp.md#clients-without-an-entry).",
        make: { ClientRegistrationDraft() },
        keys: [
            Key(
                "by_url",
                over: \.byURL,
                .flag,
                .init(),
                "Whether the https URL of a metadata document is a client id; the gateway fetches the document from the internet."
            ),
            Key(
                "hosts",
                located: \.hosts,
                .oneOrMany(of: .host, named: "a host or a list of them"),
                .init(default: .words("all"), example: ["claude.ai", "vscode.dev"]),
                "The hosts of such URLs."
            ),
            Key(
                "dynamic",
                over: \.dynamic,
                .flag,
                .init(),
                "Whether clients may register themselves at `/oauth2/register` (RFC 7591)."
            ),
            Key(
                "ca_file",
                \.caFile,
                .certificatesFile,
                .init(default: .words("the system's certificates"), example: "tls/private-ca.pem"),
                "A PEM file with the only certificates to trust for the documents; relative to the folder of this file."
            ),
        ],
        check: { draft, written, reading in
            if draft.byURL { return }
            for name in ["hosts", "ca_file"] {
                guard let mark = written.keys[name] else { continue }
                reading.warning("'\(name)' has no effect without 'by_url: true'; write that or remove it", at: mark)
            }
        }
    )
}
