// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateYAML

/// Converts a configuration of oauth2-proxy 7.
///
/// https://oauth2-proxy.github.io/oauth2-proxy/configuration/overview
struct OAuth2ProxyImport: ProductImport {
    static let product = "oauth2-proxy"

    func configuration(
        from files: [ImportFile],
        _ notes: inout ImportNotes
    ) throws(ImportFailure) -> ImportedConfiguration {
        var reader = OptionReader()
        var alpha = AlphaReader()
        var emails: [String]?
        for file in files {
            switch file.kind == .automatic ? OAuth2ProxyImport.kind(of: file) : file.kind {
            case .alpha: try alpha.read(file, into: &reader, &notes)
            case .environment: try reader.read(environment: file, &notes)
            case .flags: try reader.read(flags: file, &notes)
            case .emails: emails = (emails ?? []) + OAuth2ProxyImport.emails(try file.lines())
            case .automatic: try reader.read(configuration: file, &notes)
            }
        }
        let settings = reader.settings
        settings.addNotes(&notes)
        let provider = OAuth2ProxyProvider(settings: settings)
        var configuration = ImportedConfiguration()
        OAuth2ProxyServer(settings: settings).add(to: &configuration, &notes)
        configuration.providers = [provider.converted(&notes)]
        let access = OAuth2ProxyAccess(settings: settings, emails: emails, provider: provider).rule(&notes)
        let upstreams = OAuth2ProxyUpstreams(settings: settings, alpha: alpha)
        configuration.apps = upstreams.apps(access, &notes)
        let headers = OAuth2ProxyHeaders(
            settings: settings,
            headers: alpha.headers,
            usesAlpha: alpha.hasUpstreams,
            additionalClaims: alpha.additionalClaims
        )
        configuration.claims = headers.claims
        headers.add(to: &configuration.apps, &notes)
        OAuth2ProxyPublicPaths(settings: settings).add(to: &configuration.apps, &notes)
        return configuration
    }

    /// What a file is, by its content; `.automatic` for a `.cfg`.
    private static func kind(of file: ImportFile) -> ImportFile.Kind {
        let text = String(decoding: file.bytes, as: UTF8.self)
        let lines = text.split { $0.isNewline }.map { $0.drop { $0 == " " || $0 == "\t" } }
        func has(_ prefixes: [String]) -> Bool {
            lines.contains { line in prefixes.contains { line.hasPrefix($0) } }
        }
        if has(["injectRequestHeaders:", "injectResponseHeaders:", "upstreamConfig:", "providers:"]) { return .alpha }
        if has(["--", "- --", "- \"--", "- '--", "ExecStart="]) || text.contains(" --") { return .flags }
        if has(["OAUTH2_PROXY_", "export OAUTH2_PROXY_", "- OAUTH2_PROXY_", "Environment="]) { return .environment }
        return .automatic
    }

    /// The email addresses of a file with one a line; oauth2-proxy reads it as CSV and uses the first column.
    private static func emails(_ lines: [SourceLine]) -> [String] {
        lines.compactMap { line in
            let first = line.text.prefix { $0 != "," }.filter { $0 != "\"" && $0 != " " && $0 != "\t" }
            return first.isEmpty || first.hasPrefix("#") ? nil : first
        }
    }
}
