// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateWire
internal import GateYAML

/// `client_certificates` of a listener as the file has it.
struct ClientCertificateDraft: Sendable {
    var authorityFile: String?
    var mode: ClientCertificateSettings.Mode?
    var hosts: Located<[Located<HostPattern>]>?
    var listFiles: Located<[String]>?
    var header: Located<CertificateHeaderDraft>?

    /// The settings; nil if an error was reported.
    var settings: ClientCertificateSettings? {
        guard let authorityFile else { return nil }
        var settings = ClientCertificateSettings(authorityFile: authorityFile)
        settings.mode = self.mode ?? settings.mode
        settings.hosts = (self.hosts?.value ?? []).map(\.value)
        settings.listFiles = self.listFiles?.value ?? []
        settings.header = self.header?.value.header
        return settings
    }
}

extension Mapping<ClientCertificateDraft> {
    static let clientCertificates = Mapping(
        "the certificates of clients",
        path: "gateway.listeners[].client_certificates",
        summary:
            "The certificates that users, devices and machines present at the listener. They sign no user in: rules and apps use "
            + "them. See [client-certificates.md](client-certificates.md).",
        make: { ClientCertificateDraft() },
        keys: [
            Key(
                "ca_file",
                \.authorityFile,
                .certificatesFile,
                .init(isRequired: true, example: "tls/devices-ca.pem"),
                "The PEM file of the authorities whose certificates are accepted. All certificates in it are trusted, intermediate ones "
                    + "too. It is read again when it changes."
            ),
            Key(
                "mode",
                \.mode,
                .oneOf("a mode"),
                .init(default: .value(.string(ClientCertificateSettings.Mode.request.rawValue)), example: "require"),
                "`require` rejects every request for the hosts without a certificate that is verified (403); with `request` only rules "
                    + "decide."
            ),
            Key(
                "hosts",
                located: \.hosts,
                .hosts,
                .init(default: .words("all"), example: ["wiki.example.com"]),
                "The hosts for which clients are asked, by the server name of the handshake; wildcards as in `host` of an app. A request for "
                    + "one of them on a connection that was made for another host gets 421."
            ),
            Key(
                "crl_files",
                located: \.listFiles,
                .oneOrMany(of: .revocationLists, named: "a file or a list of files"),
                .init(default: .words("none: revocation is not checked"), example: ["tls/devices.crl"]),
                "The files of revocation lists, PEM or DER, read again when they change. With any, there has to be a valid one of each "
                    + "authority whose certificates are accepted; a certificate without is not."
            ),
            Key(
                "header",
                located: \.header,
                Mapping<CertificateHeaderDraft>.certificateHeader.shape,
                .init(default: .words("none: clients present certificates to the listener")),
                "The header in which a proxy in `trusted_proxies` writes the certificate of its client, for a proxy that terminates TLS. "
                    + "The gateway verifies the certificate itself; that the client has its key, the proxy has verified."
            ),
        ]
    )
}

/// `client_certificates.header` as the file has it.
struct CertificateHeaderDraft: Sendable {
    var form: CertificateForm?
    var name: String?

    /// The header; nil if an error was reported.
    var header: ClientCertificateSettings.Header? {
        self.form.map { ClientCertificateSettings.Header(form: $0, name: self.name ?? $0.header) }
    }
}

extension Mapping<CertificateHeaderDraft> {
    /// `client_certificates.header` of a listener.
    static let certificateHeader = Mapping(
        "the header with a certificate",
        path: "gateway.listeners[].client_certificates.header",
        summary: "How a trusted proxy passes the certificate of its client on.",
        make: { CertificateHeaderDraft() },
        keys: [
            Key(
                "form",
                \.form,
                .oneOf("a form"),
                .init(isRequired: true, example: "nginx"),
                "The form of the value: `envoy` (XFCC with `Cert` or `Chain`), `nginx` (`$ssl_client_escaped_cert`), `haproxy` "
                    + "(`%[ssl_c_der,base64]`), `traefik` (`passTLSClientCert.pem`), `apache` (`%{SSL_CLIENT_CERT}s`), `aws` "
                    + "(`X-Amzn-Mtls-Clientcert`) or `rfc9440`."
            ),
            Key(
                "name",
                \.name,
                .certificateHeaderName,
                .init(default: .words("the usual one of the form, such as `X-SSL-Client-Cert` for `nginx`")),
                "The name of the header. The proxy has to set it itself on each request, also to nothing, and to remove what its clients "
                    + "send under it."
            ),
        ]
    )
}

extension Shape<String> {
    /// The name of a header of a proxy.
    fileprivate static let certificateHeaderName = single("a header name", pattern: "^[A-Za-z0-9-]{1,64}$") {
        text throws(InvalidValue) in
        if let reason = HeaderSetting.reason(against: text) {
            throw InvalidValue("is not a header for certificates, such as X-SSL-Client-Cert: \(reason)")
        }
        guard !FieldName.hasMeaning(text) else {
            throw InvalidValue("has another meaning; choose a name of its own, such as X-SSL-Client-Cert")
        }
        return text
    }

    /// An existing file of revocation lists.
    fileprivate static let revocationLists = Shape("a file", schema: Shape<String>.certificatesFile.schema) {
        node,
        reading in
        guard let scalar = reading.scalar(node, kind: "a file"), !scalar.text.isEmpty, !scalar.text.utf8.contains(0)
        else { return nil }
        let path = reading.path(scalar.text)
        return reading.bytes(of: path, limit: ClientCertificatePolicy.maxListFile, at: scalar.mark).map { _ in path }
    }
}

extension ListenerDraft {
    /// Checks that the listener can ask for certificates, for hosts that clients name.
    func checkClientCertificates(_ written: Mapping<ListenerDraft>.Written, _ reading: inout DecodingContext) {
        guard let certificates = self.clientCertificates else { return }
        if let redirect = self.redirect {
            return reading.error(
                "a listener with 'redirect' asks for no certificates; remove one of them",
                at: redirect.mark
            )
        }
        guard certificates.value.header == nil else { return }
        guard written.keys["tls"] != nil else {
            let help =
                "write 'tls' with the certificates of the gateway, or 'header' for those that a trusted proxy passes on"
            return reading.error("'client_certificates' needs 'tls' on the listener; \(help)", at: certificates.mark)
        }
        for host in certificates.value.hosts?.value ?? [] {
            guard case .exact(let name) = host.value, IPAddress(name) != nil || name.hasPrefix("[") else { continue }
            let reason = "clients name no IP address in the handshake"
            reading.error("'\(name)' is an IP address: \(reason); write the name of the host", at: host.mark)
        }
    }
}
