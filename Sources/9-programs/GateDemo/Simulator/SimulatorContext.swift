// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import GateCore

/// What a simulated provider gets when it starts.
struct SimulatorContext: Sendable {
    let urls: SimulatorURLs
    /// The gateway, as registered with the provider.
    let client: DemoClient
    /// Signs ID tokens with RS256; the same key for all providers, under an id for each.
    let key: RSASigningKey
    /// The provider's valid codes and access tokens.
    let grants: DemoGrants
    let clock: WallClock
    let random: RandomBytes
    let quirks: DemoQuirks
    /// Applies the quirks of callbacks to the parameters of one.
    let changedCallback: @Sendable ([Form.Field]) -> [Form.Field]

    func has(_ quirk: DemoQuirk) -> Bool { self.quirks.contains(quirk) }
}

/// The URLs of a simulated provider, each an origin.
struct SimulatorURLs: Sendable {
    /// The URL that the gateway calls, https; also the issuer.
    let base: String
    /// The URL that browsers are sent to: plain http, as browsers do not trust the demo's certificate authority.
    let pages: String

    /// The same server under another host name, which a client must treat as another server.
    var other: String { self.base.replacing("localhost", with: "127.0.0.1") }
}

/// The gateway, as registered with a simulated provider.
struct DemoClient: Sendable {
    let id: String
    let secret: Secret
    /// The registered redirect URI, compared exactly.
    let callback: String
    let secretFile: String
    /// The gateway's key for providers that require a signed assertion instead of a secret, ES256.
    let signingKey: P256.Signing.PrivateKey
    /// The PEM file with this key.
    let signingKeyFile: String
    /// Its certificate for a provider that asks for one.
    let certificate: DemoClientCertificate?
    /// The platform that signs its tokens for providers that accept those.
    let workload: DemoWorkload

    /// The lines of the gateway's file that name the secret.
    var secretLines: [String] { ["client_secret: \(quoted("${file:\(self.secretFile)}"))"] }
    /// The lines of the gateway's file that name the key.
    var privateKeyLines: [String] { ["private_key: \(quoted("${file:\(self.signingKeyFile)}"))"] }

    /// The line of the gateway's file that names the file with the platform's token.
    var workloadLines: [String] { ["client_assertion_file: \(quoted(self.workload.file))"] }

    /// The line of the gateway's file for a client without a secret.
    var publicLines: [String] { ["client_secret: none"] }
    /// None: what names the certificate is below `tls`.
    var certificateLines: [String] { [] }

    /// A client with new keys, whose files are in a folder.
    init(
        id: String,
        secret: Secret,
        callback: String,
        name: String,
        folder: String,
        certificate: DemoClientCertificate.Registration?,
    ) throws {
        self.id = id
        self.secret = secret
        self.callback = callback
        self.secretFile = "\(folder)/\(name).secret"
        self.signingKey = P256.Signing.PrivateKey()
        self.signingKeyFile = "\(folder)/\(name).key"
        self.certificate = try certificate.map { try DemoClientCertificate($0, id: id, path: "\(folder)/\(name)") }
        self.workload = DemoWorkload(file: "\(folder)/\(name).token")
    }

    /// Writes the files that the gateway's file refers to.
    func writeFiles() throws {
        try PrivateFile.write(self.secret.withBytes { $0 }, to: self.secretFile)
        try PrivateFile.write(Array(self.signingKey.pemRepresentation.utf8), to: self.signingKeyFile)
        try self.certificate?.writeFiles()
    }
}

/// A sample user of a simulated provider.
struct DemoUser: Sendable {
    /// The value of the button on the sign-in page.
    let id: String
    let name: String
    /// What distinguishes this user, for the sign-in page.
    let note: String
    /// The user's attributes as the provider names them.
    let record: [String: JSON]
    /// What other resources of the provider return about the user, by a name of the simulator.
    var more: [String: JSON] = [:]

    /// The user with a changed record.
    func changed(_ change: (inout [String: JSON]) -> Void) -> DemoUser {
        var record = self.record
        change(&record)
        return DemoUser(id: self.id, name: self.name, note: self.note, record: record, more: self.more)
    }
}
