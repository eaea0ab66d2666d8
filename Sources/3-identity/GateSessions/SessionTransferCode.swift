// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The response to a ``SessionTransferRequest``: valid once, for a minute, on one origin, in one browser.
package struct SessionTransferCode: Sendable, Hashable {
    /// How long the code is valid.
    package static let lifetime = Duration.seconds(60)
    private static let purpose = "handover/code"

    /// The id that is spent when the code is redeemed.
    package let id: String
    /// The origin of the request.
    package let origin: Origin
    /// The requested path on that origin.
    package let path: ReturnPath
    package let expires: Instant
    /// Whether the request asked for a passkey, which the user has used for this host.
    let isForPasskey: Bool
    private let binding: [UInt8]
    fileprivate let ticket: Ticket

    /// A code for a request of the browser that has this ticket at the gateway's host.
    package init(for request: SessionTransferRequest, ticket: Ticket, random: RandomBytes, now: Instant) {
        self.id = random.token(16)
        self.origin = request.origin
        self.path = request.path
        self.binding = request.binding
        self.expires = now.advanced(by: SessionTransferCode.lifetime)
        self.isForPasskey = request.passkeySince != nil
        self.ticket = ticket
    }

    /// Opens a code that this gateway sealed and that has not expired; nil for everything else.
    package init?(sealed text: String, by sealer: Sealer, now: Instant) {
        self.init(sealed: text, by: sealer)
        guard now < self.expires else { return nil }
    }

    /// Opens a code that this gateway sealed, expired or not, for the path that the user requested.
    package init?(sealed text: String, by sealer: Sealer) {
        guard let json = sealer.openText(text, for: SessionTransferCode.purpose) else { return nil }
        guard let id = json["id"]?.string, let origin = json["origin"]?.origin,
            let path = json["path"]?.string.flatMap(ReturnPath.init(requested:)),
            let binding = json["binding"]?.bytes(32),
            let ticket = json["ticket"]?.string.flatMap({ Ticket($0.utf8) }), let expires = json["expires"]?.integer
        else { return nil }
        self.id = id
        self.origin = origin
        self.path = path
        self.binding = binding
        self.expires = Instant(seconds: expires)
        self.isForPasskey = json["passkey"]?.bool ?? false
        self.ticket = ticket
    }

    /// The code as text for a URL.
    package func sealed(by sealer: Sealer) -> String {
        let members: [String: JSON] = [
            "id": .string(self.id), "origin": .string("\(self.origin)"), "path": .string(self.path.value),
            "binding": .string(Base64URL.encode(self.binding)), "ticket": .string(self.ticket.text),
            "expires": .int(self.expires.seconds), "passkey": .bool(self.isForPasskey),
        ]
        return sealer.sealText(members, for: SessionTransferCode.purpose)
    }

    /// The tag in the name of the cookie that holds the binding; the same as ``BrowserBinding/tag``.
    package var tag: String { GatewayCookie.tag(of: self.binding) }

    /// Checks that the code was returned to its origin by its browser.
    ///
    /// - Parameters:
    ///   - origin: The origin that received the code.
    ///   - cookie: The value of the cookie named after ``tag``, if the browser sent exactly one.
    /// - Returns: The proof that a session may be issued.
    /// - Throws: `handover.wrong_origin` or `handover.other_browser`.
    func claim(
        at origin: Origin,
        cookie: (some Collection<UInt8>)?
    ) throws(Failure) -> SessionTransferClaim {
        guard origin == self.origin else {
            throw Failure(.sessionTransferWrongOrigin, "a code for \(self.origin) was sent to \(origin)")
        }
        guard let held = cookie.flatMap({ BrowserBinding($0) }), constantTimeEquals(held.hash, self.binding)
        else {
            throw Failure(.sessionTransferOtherBrowser, "the code does not belong to this browser")
        }
        return SessionTransferClaim(code: self)
    }
}

/// A code that was returned to its origin by its browser.
struct SessionTransferClaim: Sendable {
    let code: SessionTransferCode

    fileprivate init(code: SessionTransferCode) {
        self.code = code
    }

    /// The ticket of the browser at the gateway's host.
    var ticket: Ticket { self.code.ticket }
}
