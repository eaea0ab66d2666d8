// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateProviders
package import GateYAML

/// One entry of `service_tokens` as the file has it.
package struct ServiceTokenDraft: Sendable {
    var hash: [UInt8]?
    /// The last day on which it is accepted, as its first instant.
    package var expires: Located<Instant>?
    var groups: [String]?
    var roles: [String]?
}

extension ServiceTokenDraft {
    /// The settings of a complete entry.
    package func settings(name: String) -> ServiceTokenSettings? {
        guard let hash else { return nil }
        var settings = ServiceTokenSettings(name: name, hash: hash)
        settings.expires = self.end
        settings.groups = self.groups ?? []
        settings.roles = self.roles ?? []
        return settings
    }

    /// The end of its last day.
    package var end: Instant? { self.expires.map { $0.value.advanced(by: .seconds(86_400)) } }
}

extension Mapping<ServiceTokenDraft> {
    /// An entry of `service_tokens`.
    package static let serviceToken = Mapping(
        "a service token",
        path: "service_tokens.<name>",
        summary:
            "A token for one client without a browser, which `gatehouse tokens create` makes; apps name it in `machines`. "
            + "Its user is `token:<name>`. See [machines.md](machines.md#service-tokens).",
        make: { ServiceTokenDraft() },
        keys: [
            Key(
                "hash",
                \.hash,
                .tokenHash,
                .init(
                    isRequired: true,
                    example: "sha256:5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8"
                ),
                "The hash that `gatehouse tokens create` prints; the token itself is nowhere in the file."
            ),
            Key(
                "expires",
                located: \.expires,
                .date,
                .init(default: .words("never"), example: "2027-06-30"),
                "The last day, UTC, on which it is accepted."
            ),
            Key(
                "groups",
                \.groups,
                .set(of: .text, named: "a list of groups", limit: 64),
                .init(default: .value([]), example: ["deployers"]),
                "The groups of its user, for `allow` and `deny` and for the apps."
            ),
            Key(
                "roles",
                \.roles,
                .set(of: .text, named: "a list of roles", limit: 64),
                .init(default: .value([]), example: ["reader"]),
                "The roles of its user."
            ),
        ]
    )
}

extension Shape<[UInt8]> {
    /// The hash of a service token; a token in its place would be a secret in the file.
    fileprivate static let tokenHash = Shape("a hash", schema: Schema.text(pattern: "^sha256:[0-9a-f]{64}$")) {
        node,
        reading in
        guard let scalar = reading.scalar(node, kind: "a hash") else { return nil }
        guard !ServiceToken.isOne(scalar.text) else {
            reading.conceal(node)
            let help =
                "write the hash that 'gatehouse tokens create' printed, and make another token: this one is known"
            reading.error("this is a token, not its hash; \(help)", at: scalar.mark)
            return nil
        }
        guard let hash = ServiceToken.hash(scalar.text) else {
            reading.error("\(scalar.shown) is not a hash; 'gatehouse tokens create' prints one", at: scalar.mark)
            return nil
        }
        return hash
    }
}
