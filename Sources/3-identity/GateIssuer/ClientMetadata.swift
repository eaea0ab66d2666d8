// SPDX-License-Identifier: Apache-2.0

package import GateClients
package import GateCore

/// How a client describes itself: in a registration, or in the document at its URL.
///
/// RFC 7591 §2.
package struct ClientMetadata: Sendable, Hashable {
    /// The maximum number of redirect URIs.
    package static let maxRedirectURIs = 20
    private static let maxName = 80

    /// The name that the client claims, for users; nil without a printable one.
    package let name: String?
    /// Where responses may go, at least one.
    package let redirectURIs: [RedirectURI]

    /// Reads and checks the members that matter; others are ignored, as RFC 7591 §2 requires.
    ///
    /// - Throws: `invalid_redirect_uri` or `invalid_client_metadata`.
    package init(_ json: JSON) throws(OAuthError) {
        guard json.object != nil else { throw OAuthError(.invalidClientMetadata, "the metadata is not a JSON object") }
        guard let uris = json["redirect_uris"]?.array, !uris.isEmpty, uris.count <= ClientMetadata.maxRedirectURIs
        else {
            let limit = ClientMetadata.maxRedirectURIs
            throw OAuthError(.invalidRedirectURI, "'redirect_uris' must be a list of 1 to \(limit) URIs")
        }
        var found: [RedirectURI] = []
        for uri in uris {
            guard let text = uri.string else {
                throw OAuthError(.invalidRedirectURI, "'redirect_uris' must have texts only")
            }
            do throws(RedirectURIFailure) {
                found.append(try RedirectURI(text))
            } catch {
                let shown = PrintableText.escaped(text, limit: 100)
                throw OAuthError(.invalidRedirectURI, "'\(shown)' \(error.message)")
            }
        }
        try ClientMetadata.check(json, "grant_types", has: GrantType.authorizationCode.rawValue)
        try ClientMetadata.check(json, "response_types", has: "code")
        self.name = json["client_name"]?.string.flatMap(ClientMetadata.printable)
        self.redirectURIs = found
    }

    private static func check(_ json: JSON, _ name: String, has value: String) throws(OAuthError) {
        guard let member = json[name], member != .null else { return }
        guard member.array?.contains(.string(value)) ?? false else {
            throw OAuthError(.invalidClientMetadata, "'\(name)' must have \(value)")
        }
    }

    /// How many marks may follow a letter.
    private static let maxMarks = 2
    /// Letters that are drawn as white space.
    private static let blanks: Set<UInt32> = [0x115F, 0x1160, 0x2800, 0x3164, 0xFFA0]

    /// A name without characters that change how the text around it is shown, such as those that reverse it.
    private static func printable(_ text: String) -> String? {
        var scalars = String.UnicodeScalarView()
        var marks = 0
        for scalar in text.unicodeScalars.prefix(16 * self.maxName) {
            switch scalar.properties.generalCategory {
            case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: continue
            case .spaceSeparator: scalars.append(" ")
            case .nonspacingMark, .enclosingMark, .spacingMark:
                // More of them would be drawn over the text around the name.
                marks += 1
                if marks <= self.maxMarks { scalars.append(scalar) }
                continue
            default:
                if !self.blanks.contains(scalar.value) { scalars.append(scalar) }
            }
            marks = 0
        }
        let words = String(scalars).split(separator: " ").joined(separator: " ")
        let name = String(String.UnicodeScalarView(words.unicodeScalars.prefix(self.maxName)))
        return name.isEmpty ? nil : name
    }
}

/// A registration that is its own client id: sealed, so that nothing is stored.
///
/// RFC 7591 §3.2.1: the server chooses the id.
package struct SealedRegistration {
    private static let purpose = "client/registration"
    /// What every such id begins with.
    package static let prefix = "reg_"
    /// The bound of the id in bytes: it is in codes, access tokens and the keys of sessions.
    private static let maxLength = 1024

    package let metadata: ClientMetadata

    /// The id of a new registration.
    ///
    /// - Throws: `invalid_client_metadata` if it is too long.
    package static func id(of metadata: ClientMetadata, sealedBy sealer: Sealer) throws(OAuthError) -> String {
        var members: [String: JSON] = ["redirect_uris": .array(metadata.redirectURIs.map { .string($0.text) })]
        members["client_name"] = metadata.name.map(JSON.string)
        let id = self.prefix + Base64URL.encode(sealer.seal(JSON.object(members).encoded, for: self.purpose))
        guard id.utf8.count <= self.maxLength else {
            throw OAuthError(
                .invalidClientMetadata,
                "name and redirect URIs are too long together; register fewer of them"
            )
        }
        return id
    }

    /// Opens an id; nil unless this gateway has made it.
    package init?(id: String, by sealer: Sealer) {
        guard id.hasPrefix(SealedRegistration.prefix), id.utf8.count <= SealedRegistration.maxLength,
            let bytes = Base64URL.decode(String(id.dropFirst(SealedRegistration.prefix.count))),
            let plain = sealer.open(bytes, for: SealedRegistration.purpose),
            let json = try? JSON(parsing: plain, depth: 2),
            let metadata = try? ClientMetadata(json)
        else { return nil }
        self.metadata = metadata
    }
}
