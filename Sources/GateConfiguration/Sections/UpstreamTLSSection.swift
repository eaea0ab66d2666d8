// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProxy

/// What is written of `apps.<name>.upstream.tls`.
struct UpstreamTLSDraft: Sendable {
    var caFile: String?
    var certificate: String?
    var privateKey: String?
    var serverName: String?
    var pins: PinSetDraft?
}

extension Mapping<UpstreamTLSDraft> {
    /// `apps.<name>.upstream.tls`.
    static let upstreamTLS = Mapping(
        "the TLS of an upstream",
        path: "apps.<name>.upstream.tls",
        summary:
            "What is trusted and shown when TLS is spoken with a target. Relative paths are taken from the folder of "
            + "this file.",
        make: { UpstreamTLSDraft() },
        keys: [
            Key(
                "ca_file",
                \.caFile,
                .certificatesFile,
                .init(default: .words("the system's authorities"), example: "tls/app-ca.pem"),
                "The PEM file of the only authorities to trust for this app."
            ),
            Key(
                "certificate",
                \.certificate,
                .existingFile,
                .init(default: .words("none"), example: "tls/client.pem"),
                "The PEM file of the certificate chain that is shown to the targets, leaf first; with `private_key`."
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
                .init(default: .words("the host of the target"), example: "app.internal"),
                "The name that is asked for and that the certificate has to have."
            ),
            Key(
                "pins",
                \.pins,
                Mapping<PinSetDraft>.upstreamPins.shape,
                .init(default: .words("none")),
                "The keys that the targets may have, beyond a chain that is valid."
            ),
        ],
        check: { _, written, reading in
            for (one, other) in [("certificate", "private_key"), ("private_key", "certificate")] {
                guard let mark = written.keys[one], written.keys[other] == nil else { continue }
                let example = "'\(other): tls/client.\(other == "certificate" ? "pem" : "key")'"
                reading.error("'\(one)' needs '\(other)', such as \(example)", at: mark)
            }
        }
    )
}

extension UpstreamTLSDraft {
    /// The settings.
    var settings: UpstreamTLS.Settings {
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
