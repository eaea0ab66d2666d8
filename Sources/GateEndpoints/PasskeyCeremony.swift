// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GatePages
internal import GatePasskeys
internal import GateSessions

/// A request for a passkey that a page has made, in a field of its form: sealed, for one sign-in, and for one use.
struct PasskeyCeremony {
    /// What the page is for.
    enum Purpose: String {
        /// To add or remove a passkey.
        case change
        /// To use one.
        case use
    }

    private static let sealing = "passkeys/ceremony"
    private static let lifetime = Duration.seconds(600)
    /// The name of the field that has it.
    static let field = "ceremony"

    /// What the page is for.
    let purpose: Purpose
    /// The user handle of the request.
    let handle: [UInt8]
    /// Where the browser goes afterwards; nil for the page itself.
    let returnPath: ReturnPath?
    /// The challenge that the response has to have.
    let challenge: PasskeyChallenge
    private let family: String
    private let expires: Instant

    /// A ceremony that begins now.
    init(
        _ purpose: Purpose,
        handle: [UInt8],
        returnPath: ReturnPath?,
        of session: Session,
        now: Instant,
        random: RandomBytes
    ) {
        (self.purpose, self.handle, self.returnPath) = (purpose, handle, returnPath)
        self.challenge = PasskeyChallenge(from: random)
        self.family = session.signInID
        self.expires = now.advanced(by: PasskeyCeremony.lifetime)
    }

    /// Opens the field; nil unless this gateway has sealed it for this sign-in within ten minutes.
    init?(_ text: String, _ purpose: Purpose, of session: Session, by sealer: Sealer, now: Instant) {
        guard text.utf8.count <= EndpointRequest.maxBody, let bytes = Base64URL.decode(text),
            let plain = sealer.open(bytes, for: PasskeyCeremony.sealing),
            let json = try? JSON(parsing: plain, depth: 1), json["purpose"]?.string == purpose.rawValue,
            let family = json["family"]?.string, isIdentical(family, session.signInID),
            let challenge = json["challenge"]?.string.flatMap({ Base64URL.decode($0) })
                .flatMap({ try? PasskeyChallenge($0) }),
            let handle = json["handle"]?.string.flatMap({ Base64URL.decode($0) }),
            let expires = json["expires"]?.integer, now < Instant(seconds: expires)
        else { return nil }
        (self.purpose, self.handle, self.challenge, self.family) = (purpose, handle, challenge, family)
        self.returnPath = json["rd"]?.string.flatMap { ReturnPath($0) }
        self.expires = Instant(seconds: expires)
    }

    /// The text of the field.
    func sealed(by sealer: Sealer) -> String {
        var members: [String: JSON] = [
            "purpose": .string(self.purpose.rawValue), "family": .string(self.family),
            "challenge": .string(self.challenge.text), "handle": .string(Base64URL.encode(self.handle)),
            "expires": .int(self.expires.seconds),
        ]
        members["rd"] = self.returnPath.map { .string($0.value) }
        return Base64URL.encode(sealer.seal(JSON.object(members).encoded, for: PasskeyCeremony.sealing))
    }

    /// What is spent with a response, so that none counts twice.
    var once: SingleUse { SingleUse("passkey", self.challenge.text, until: self.expires) }
}

extension EndpointRequest {
    /// What the browser returned for the use of a passkey.
    func passkeyAssertion() throws(Failure) -> PasskeyAssertion.Response {
        let text = self.form?[PasskeyForm.credential] ?? ""
        guard let json = try? JSON(parsing: text.utf8, depth: 8) else {
            throw Failure(.passkeyRejected, "the form has no response of a browser")
        }
        do throws(PasskeyError) {
            return try PasskeyAssertion.Response(json)
        } catch {
            throw Failure(.passkeyRejected, error.message)
        }
    }
}

extension Failure {
    /// What the page about passkeys shows of a failure that the user can do something about; nil for all others.
    var passkeyRemark: PageText? {
        switch self.reason {
        case .passkeyRejected, .passkeyCloned: .passkeyFailed
        case .passkeyConflict: .passkeyLimit
        default: nil
        }
    }
}
