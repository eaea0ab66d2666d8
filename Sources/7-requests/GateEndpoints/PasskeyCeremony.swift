// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GatePages
internal import GatePasskeys
internal import GateSessions

/// A request for a passkey that a page has made, in a field of its form: sealed, for one sign-in, and for one use.
struct PasskeyCeremony {
    /// What the page is for.
    enum Purpose: String {
        /// To use a passkey, as a rule asks.
        case use
        /// To use one before a change.
        case confirm
        /// The change; only a user who has confirmed the session gets one.
        case change
    }

    private static let sealing = "passkeys/ceremony"
    private static let lifetime = Duration.seconds(600)
    /// The name of the field that has it.
    static let field = "ceremony"

    /// What the page is for.
    let purpose: Purpose
    /// The user handle of the request.
    let handle: [UInt8]
    /// Whether the user had no passkey when the page was made.
    let isFirst: Bool
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
        isFirst: Bool = false,
        returnPath: ReturnPath?,
        of session: Session,
        now: Instant,
        random: RandomBytes
    ) {
        (self.purpose, self.handle, self.isFirst, self.returnPath) = (purpose, handle, isFirst, returnPath)
        self.challenge = PasskeyChallenge(from: random)
        self.family = session.signInID
        self.expires = now.advanced(by: PasskeyCeremony.lifetime)
    }

    /// Opens the field of a form; nil unless this gateway has sealed it.
    init?(in form: Form?, by sealer: Sealer) {
        guard let text = form?[PasskeyCeremony.field], text.utf8.count <= EndpointRequest.maxBody,
            let bytes = Base64URL.decode(text), let plain = sealer.open(bytes, for: PasskeyCeremony.sealing),
            let json = try? JSON(parsing: plain, depth: 1),
            let purpose = json["purpose"]?.string.flatMap({ Purpose(rawValue: $0) }),
            let family = json["family"]?.string,
            let challenge = json["challenge"]?.string.flatMap({ Base64URL.decode($0) })
                .flatMap({ try? PasskeyChallenge($0) }),
            let handle = json["handle"]?.string.flatMap({ Base64URL.decode($0) }),
            let isFirst = json["first"]?.bool, let expires = json["expires"]?.integer
        else { return nil }
        (self.purpose, self.handle, self.isFirst, self.challenge) = (purpose, handle, isFirst, challenge)
        self.family = family
        self.returnPath = json["rd"]?.string.flatMap { ReturnPath(requested: $0) }
        self.expires = Instant(seconds: expires)
    }

    /// The text of the field.
    func sealed(by sealer: Sealer) -> String {
        var members: [String: JSON] = [
            "purpose": .string(self.purpose.rawValue), "family": .string(self.family),
            "challenge": .string(self.challenge.text), "handle": .string(Base64URL.encode(self.handle)),
            "first": .bool(self.isFirst), "expires": .int(self.expires.seconds),
        ]
        members["rd"] = self.returnPath.map { .string($0.value) }
        return Base64URL.encode(sealer.seal(JSON.object(members).encoded, for: PasskeyCeremony.sealing))
    }

    /// Whether it may still be carried out in a session: that of the sign-in on whose page it began.
    func isCurrent(in session: Session, now: Instant) -> Bool {
        now < self.expires && isIdentical(self.family, session.signInID)
    }

    /// What is spent with a response, so that none counts twice.
    var once: SingleUse { SingleUse("passkey", self.challenge.text, until: self.expires) }
}

extension EndpointRequest {
    /// What the browser returned for the use of a passkey.
    func passkeyAssertion() throws(Failure) -> PasskeyAssertion.Response {
        let json = try self.passkeyResponse()
        do throws(PasskeyError) {
            return try PasskeyAssertion.Response(json)
        } catch {
            throw Failure(.passkeyRejected, error.message)
        }
    }

    /// What the browser returned, for either ceremony.
    func passkeyResponse() throws(Failure) -> JSON {
        guard let json = self.form?[PasskeyForm.credential].flatMap({ try? JSON(parsing: $0.utf8, depth: 8) }) else {
            throw Failure(.passkeyRejected, "the form has no response of a browser")
        }
        return json
    }
}

extension Failure {
    /// What the page about passkeys shows of a failure that the user can do something about; nil for all others.
    var passkeyRemark: PageText? {
        switch self.reason {
        case .passkeyRejected: .passkeyFailed
        case .passkeyCloned: .passkeyCopied
        case .passkeyConflict: .passkeyLimit
        case .passkeyLate: .passkeyLate
        default: nil
        }
    }
}
