// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import GateCore
internal import GateProviders

/// What the gateway has to prove to one provider who it is, and how it does so.
///
/// Each request carries one proof only: RFC 6749 §2.3 forbids two.
struct ClientCredentials: Sendable {
    /// How long an assertion lives; it is used at once.
    private static let assertionLifetime = Duration.seconds(60)
    /// How long a signed secret lives; Apple takes up to six months, but each is used once.
    private static let signedSecretLifetime = Duration.seconds(300)
    private static let assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

    let clientID: String
    let secret: Secret
    let key: ClientKey?
    let clock: WallClock
    let random: RandomBytes
    private let teamID: String?
    /// The file with the JWT that another party signs.
    let assertionFile: String?
    /// Whether the connections show a certificate.
    let hasCertificate: Bool

    /// Reads the key, if there is one.
    ///
    /// - Throws: `provider.private_key` if it cannot be read or does not fit how the provider wants to be convinced.
    init(
        _ settings: ProviderSettings,
        method: ProviderDefinition.ClientAuthentication,
        clock: WallClock,
        random: RandomBytes
    ) throws(Failure) {
        self.clientID = settings.clientID
        self.secret = settings.clientSecret
        self.teamID = settings.teamID
        self.assertionFile = settings.clientAssertionFile
        self.hasCertificate = settings.shownCertificate != nil
        self.clock = clock
        self.random = random
        do throws(Failure) {
            self.key = try settings.privateKey.map { (pem) throws(Failure) in
                try ClientKey(pem, id: settings.keyID, certificate: settings.certificate)
            }
            try self.check(method)
        } catch {
            let detail = "providers.\(settings.id).\(error.detail)"
            throw Failure(.providerPrivateKey, detail)
        }
    }

    private func check(_ method: ProviderDefinition.ClientAuthentication) throws(Failure) {
        switch method {
        case .secretPost, .secretBasic, .advertised, .assertionFile, .none: return
        case .certificate, .ownCertificate:
            guard self.hasCertificate else { throw self.failure("tls.certificate: client_authentication needs it") }
        case .privateKeyJWT:
            guard self.key != nil else { throw self.failure("private_key: client_authentication needs it") }
        case .signedSecret:
            guard self.key?.isP256 == true else {
                throw self.failure("private_key: this provider needs an EC key on P-256, and this is another kind")
            }
            guard self.teamID != nil else { throw self.failure("team_id: this provider needs it") }
        }
    }

    private func failure(_ detail: String) -> Failure {
        Failure(.providerPrivateKey, detail)
    }

    /// Adds the proof to a form; what is returned goes into the `Authorization` field instead.
    ///
    /// - Parameters:
    ///   - form: The request.
    ///   - proof: How to prove it.
    /// - Returns: The value of the `Authorization` field; nil for none.
    /// - Throws: `provider.private_key` if the key is missing or does not sign.
    func authenticate(_ form: inout Form, by proof: ClientProof) throws(Failure) -> String? {
        switch proof {
        case .basic:
            return self.basicAuthorization
        case .post:
            form.append("client_id", self.clientID)
            self.secret.withText { form.append("client_secret", $0) }
        case .assertion(let audience, let algorithm):
            form.append("client_id", self.clientID)
            form.append("client_assertion_type", ClientCredentials.assertionType)
            form.append("client_assertion", try self.assertion(for: audience, algorithm: algorithm))
        case .signedSecret(let audience):
            form.append("client_id", self.clientID)
            form.append("client_secret", try self.signedSecret(for: audience))
        case .assertionFile:
            form.append("client_id", self.clientID)
            form.append("client_assertion_type", ClientCredentials.assertionType)
            form.append("client_assertion", try self.fileAssertion())
        case .none, .certificate:
            form.append("client_id", self.clientID)
        }
        return nil
    }

    /// How long a JWT in a file may be.
    private static let maxAssertionBytes = 16_384

    /// The JWT in the file as it is now: what rotates it does so without a word to us.
    private func fileAssertion() throws(Failure) -> String {
        guard let path = self.assertionFile else { throw self.failure("client_assertion_file is missing") }
        guard
            let data = FileHandle(forReadingAtPath: path).flatMap({ file in
                defer { try? file.close() }
                return try? file.read(upToCount: ClientCredentials.maxAssertionBytes + 1)
            })
        else {
            throw self.failure(
                "client_assertion_file: \(path) cannot be read; is it mounted, and may the gateway read it?"
            )
        }
        let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard data.count <= ClientCredentials.maxAssertionBytes, parts.count == 3,
            parts.allSatisfy({ !$0.isEmpty && Base64URL.decode($0.utf8) != nil })
        else { throw self.failure("client_assertion_file: there is no JWT in \(path)") }
        return text
    }

    /// Id and secret are form-encoded before they are joined, so that a colon in them does no harm.
    ///
    /// RFC 6749 §2.3.1.
    private var basicAuthorization: String {
        let secret = self.secret.withText { PercentEncoding.encode($0) }
        let pair = "\(PercentEncoding.encode(self.clientID)):\(secret)"
        return "Basic \(Data(pair.utf8).base64EncodedString())"
    }

    /// A JWT that authenticates the gateway to this audience only, once and for one minute.
    ///
    /// RFC 7523 §3, OpenID Connect Core §9.
    private func assertion(for audience: String, algorithm: String) throws(Failure) -> String {
        let now = self.clock.now
        let claims: JSON = [
            "iss": .string(self.clientID), "sub": .string(self.clientID), "aud": .string(audience),
            "jti": .string(self.random.token(16)), "iat": .int(now.seconds),
            "exp": .int(now.advanced(by: ClientCredentials.assertionLifetime).seconds),
        ]
        return try self.signer.signed(claims, algorithm: algorithm)
    }

    /// A JWT that Apple takes for a secret.
    ///
    /// https://developer.apple.com/documentation/accountorganizationaldatasharing/creating-a-client-secret
    private func signedSecret(for audience: String) throws(Failure) -> String {
        let now = self.clock.now
        let claims: JSON = [
            "iss": .string(self.teamID ?? ""), "sub": .string(self.clientID), "aud": .string(audience),
            "iat": .int(now.seconds),
            "exp": .int(now.advanced(by: ClientCredentials.signedSecretLifetime).seconds),
        ]
        return try self.signer.signed(claims, algorithm: "ES256")
    }

    private var signer: ClientKey {
        get throws(Failure) {
            guard let key = self.key else { throw self.failure("private_key is missing") }
            return key
        }
    }
}

/// One way to prove who we are, ready to be used.
enum ClientProof: Sendable, Equatable {
    /// Id and secret in the `Authorization` field.
    case basic
    /// Id and secret in the form.
    case post
    /// A signed JWT for this audience.
    case assertion(audience: String, algorithm: String)
    /// A signed JWT in the place of the secret.
    case signedSecret(audience: String)
    /// The JWT in a file.
    case assertionFile
    /// A certificate, which the connection shows.
    case certificate
    /// None, of a public client.
    case none
}
