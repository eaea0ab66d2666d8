// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// `providers.yaml` made of the configuration of another product, and what it could not carry over.
package struct ImportResult: Sendable {
    /// The text of `providers.yaml`.
    package let yaml: String
    /// What was carried over in another form, or not at all, by file and line.
    package let notes: [ImportNote]
    /// How many apps no user can open until their rules are written by hand.
    package let deniedApps: Int
}

/// Makes `providers.yaml` of the configuration of another product.
package enum ConfigurationImport {
    /// Converts files that belong together.
    ///
    /// - Parameters:
    ///   - files: The files.
    ///   - format: The product; nil to find it out from the content.
    ///   - publicURL: The URL of the sign-in page, if it differs from that of the source.
    /// - Returns: The configuration and its notes.
    /// - Throws: Why a file cannot be read.
    package static func result(
        of files: [ImportFile],
        format: ImportFormat? = nil,
        publicURL: Origin? = nil
    ) throws(ImportFailure) -> ImportResult {
        guard files.count <= ImportFile.maxFiles else {
            throw ImportFailure("more than \(ImportFile.maxFiles) files")
        }
        for file in files where file.bytes.count > ImportFile.maxSize {
            throw ImportFailure("the file is larger than 1 MiB", at: ImportPlace(file: file.name, line: 1))
        }
        let found = if let format { format } else { try self.format(of: files) }
        let product = self.product(found)
        var notes = ImportNotes()
        var configuration = try product.configuration(from: files, &notes)
        configuration.publicURL = publicURL ?? configuration.publicURL
        configuration.removeWildcardsOfPublicHost(&notes)
        if configuration.publicURL == nil {
            notes.warning(
                "the URL of the sign-in page is not known; replace 'public_url', or use --public-url",
                at: nil
            )
        }
        let denied = configuration.apps.filter { $0.access == .deniedToAll && !$0.isPublic }
        for app in denied {
            let host = app.hosts.first.map { "\($0)" } ?? ""
            notes.warning(
                "the app at '\(host)\(app.path)' is denied to all users; write 'allow' and 'deny'",
                at: app.place
            )
        }
        configuration.addClaims()
        let yaml = configuration.yaml(of: type(of: product).product)
        return ImportResult(
            yaml: yaml,
            notes: notes.sorted(files: files.map(\.name)),
            deniedApps: denied.count
        )
    }

    private static func product(_ format: ImportFormat) -> any ProductImport {
        switch format {
        case .oauth2Proxy: OAuth2ProxyImport()
        case .modAuthOpenIDC: ApacheImport()
        case .authelia: AutheliaImport()
        case .pomerium: PomeriumImport()
        }
    }

    /// The product that files belong to, by words that only its files have.
    private static func format(of files: [ImportFile]) throws(ImportFailure) -> ImportFormat {
        if files.contains(where: { $0.kind != .automatic }) { return .oauth2Proxy }
        let marks: [(ImportFormat, [String])] = [
            (
                .modAuthOpenIDC,
                ["OIDCProviderMetadataURL", "OIDCClientID", "AuthType openid-connect", "OIDCRedirectURI"]
            ),
            (.authelia, ["access_control:", "default_policy:"]),
            (.pomerium, ["authenticate_service_url:", "idp_provider:", "allow_any_authenticated_user:", "routes:"]),
            (
                .oauth2Proxy,
                [
                    "OAUTH2_PROXY_", "oauth2-proxy", "oauth2_proxy", "injectRequestHeaders", "upstreamConfig",
                    "email_domains", "cookie_secret", "--email-domain", "client_id",
                ]
            ),
        ]
        for file in files {
            let text = String(decoding: file.bytes, as: UTF8.self)
            if let found = marks.first(where: { $0.1.contains { text.contains($0) } }) { return found.0 }
        }
        let names = ImportFormat.allCases.map(\.rawValue).joined(separator: ", ")
        throw ImportFailure("the format of the file is not known; name it with --from: \(names)")
    }
}
