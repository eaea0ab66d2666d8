// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GatePages
internal import GateSessions

/// What the form of the consent page brings back: the request that the user has seen, for one session.
///
/// RFC 6749 §10.12.
struct Consent {
    /// What a consent is to; that to one thing is never one to another, whatever its form has.
    enum Kind: String {
        /// A client's request, whose parameters are the client's.
        case client
        /// The sign-in on a device.
        case device
        /// A change of the password or the codes.
        case credentials
        /// The connection of an account.
        case connect
        /// The end of one.
        case disconnect

        fileprivate var purpose: String { "consent/\(self.rawValue)" }
    }

    private static let lifetime = Duration.seconds(600)

    /// The name of the field that has it.
    static let field = "consent"
    /// The field with the user's choice, and its value if that is to sign in.
    static let choice = (name: "choice", allow: "allow", deny: "deny")

    /// The request.
    let form: Form
    private let kind: Kind
    private let family: String
    private let expires: Instant

    /// The consent that a user is asked for.
    init(_ kind: Kind, to form: Form, of session: Session, now: Instant) {
        (self.kind, self.form) = (kind, form)
        self.family = session.signInID
        self.expires = now.advanced(by: Consent.lifetime)
    }

    /// Opens the field; nil unless this gateway has sealed it for that within ten minutes.
    init?(_ kind: Kind, sealed text: String, by sealer: Sealer, now: Instant) {
        guard text.utf8.count <= EndpointRequest.maxBody, let bytes = Base64URL.decode(text),
            let plain = sealer.open(bytes, for: kind.purpose), let json = try? JSON(parsing: plain, depth: 1),
            let form = json["form"]?.string.flatMap({ Form(encoded: $0) }), let family = json["family"]?.string,
            let expires = json["expires"]?.integer, now < Instant(seconds: expires)
        else { return nil }
        (self.kind, self.form) = (kind, form)
        self.family = family
        self.expires = Instant(seconds: expires)
    }

    /// The text of the field.
    func sealed(by sealer: Sealer) -> String {
        let members: JSON = [
            "form": .string(self.form.encoded), "family": .string(self.family), "expires": .int(self.expires.seconds),
        ]
        return Base64URL.encode(sealer.seal(members.encoded, for: self.kind.purpose))
    }

    /// Whether it is of the user who has this session.
    func isOf(_ session: Session) -> Bool { isIdentical(session.signInID, self.family) }
}
