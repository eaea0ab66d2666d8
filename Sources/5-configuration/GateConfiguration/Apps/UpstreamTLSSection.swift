// SPDX-License-Identifier: Apache-2.0

internal import GateCore
package import GateProxy
package import GateYAML

/// The TLS of connections to servers of the operator, as the file has it.
package struct UpstreamTLSDraft: Sendable {
    var caFile: String?
    var certificate: String?
    var privateKey: String?
    var serverName: String?
    var pins: PinSetDraft?
}

extension Mapping<UpstreamTLSDraft> {
    /// `apps.<name>.upstream.tls`.
    static let upstreamTLS = clientTLS(
        path: "apps.<name>.upstream.tls",
        trust: "The PEM file of the only certificates to trust for this app.",
        name: "the host of the target",
        further: [
            Key(
                "pins",
                \.pins,
                Mapping<PinSetDraft>.upstreamPins.shape,
                .init(default: .words("none")),
                "The pins of the targets, in addition to a valid chain."
            )
        ]
    )

    /// The TLS of connections to servers of the operator.
    ///
    /// - Parameters:
    ///   - path: The path of the mapping.
    ///   - trust: The summary of `ca_file`.
    ///   - name: The default of `server_name`.
    ///   - further: Further keys.
    /// - Returns: The mapping.
    package static func clientTLS(
        path: String,
        trust: String,
        name: String,
        further: [Key<UpstreamTLSDraft>] = []
    ) -> Mapping {
        Mapping(
            "the TLS of connections",
            path: path,
            summary:
                "The certificates to trust and to present over TLS. Relative paths are resolved against the folder of this "
                + "file.",
            make: { UpstreamTLSDraft() },
            keys: [
                Key(
                    "ca_file",
                    \.caFile,
                    .certificatesFile,
                    .init(default: .words("the system's certificates"), example: "tls/app-ca.pem"),
                    trust
                ),
                Key(
                    "certificate",
                    \.certificate,
                    .existingFile,
                    .init(default: .words("none"), example: "tls/client.pem"),
                    "The PEM file of the certificate chain that is presented to the targets, leaf first; with "
                        + "`private_key`."
                ),
                Key(
                    "private_key",
                    \.privateKey,
                    .existingFile,
                    .init(default: .words("none"), example: "tls/client.key"),
                    "The PEM file of the private key of `certificate`."
                ),
                Key(
                    "server_name",
                    \.serverName,
                    .host,
                    .init(default: .words(name), example: "app.internal"),
                    "The server name (SNI) that the certificate must have."
                ),
            ] + further,
            check: { _, written, reading in
                reading.requireBothTLSFiles(written.keys)
            }
        )
    }
}

extension UpstreamTLSDraft {
    package var settings: UpstreamTLS.Settings {
        var settings = UpstreamTLS.Settings()
        settings.caFile = self.caFile
        if let certificate = self.certificate, let privateKey = self.privateKey {
            settings.certificate = CertificateFiles(certificate: certificate, privateKey: privateKey)
        }
        settings.serverName = self.serverName
        settings.pins = self.pins?.policy.standard
        return settings
    }
}
