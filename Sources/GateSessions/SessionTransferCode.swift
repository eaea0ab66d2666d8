// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The gate's answer to a ``SessionTransferRequest``: good once, for a minute, on one origin, in one browser.
package struct SessionTransferCode: Sendable, Hashable {
    /// How long the way back may take.
    package static let lifetime = Duration.seconds(60)
    private static let purpose = "handover/code"

    /// The id that is spent when the code is redeemed.
    package let id: String
    /// The origin that asked.
    package let origin: Origin
    /// Where the person was going there.
    package let path: ReturnPath
    /// When the code is worth nothing.
    package let expires: Instant
    private let binding: [UInt8]
    fileprivate let ticket: Ticket

    /// Answers a request for the browser that has this ticket at the gate.
    package init(answering request: SessionTransferRequest, ticket: Ticket, random: RandomBytes, now: Instant) {
        self.id = random.token(16)
        self.origin = request.origin
        self.path = request.path
        self.binding = request.binding
        self.expires = now.advanced(by: SessionTransferCode.lifetime)
        self.ticket = ticket
    }

    /// Opens a code that this gateway sealed and that has not expired; nil for everything else.
    package init?(sealed text: String, by sealer: Sealer, now: Instant) {
        self.init(sealed: text, by: sealer)
        guard now < self.expires else { return nil }
    }

    /// Opens a code that this gateway sealed, however long ago, to see where its user was going.
    package init?(sealed text: String, by sealer: Sealer) {
        guard let json = SealedText.open(text, for: SessionTransferCode.purpose, with: sealer) else { return nil }
        guard let id = json["id"]?.string, let origin = json["origin"]?.origin,
            let path = json["path"]?.string.flatMap(ReturnPath.init), let binding = json["binding"]?.bytes(32),
            let ticket = json["ticket"]?.string.flatMap({ Ticket($0.utf8) }), let expires = json["expires"]?.integer
        else { return nil }
        self.id = id
        self.origin = origin
        self.path = path
        self.binding = binding
        self.expires = Instant(seconds: expires)
        self.ticket = ticket
    }

    /// The code as text for an address.
    package func sealed(by sealer: Sealer) -> String {
        let members: [String: JSON] = [
            "id": .string(self.id), "origin": .string("\(self.origin)"), "path": .string(self.path.value),
            "binding": .string(Base64URL.encode(self.binding)), "ticket": .string(self.ticket.text),
            "expires": .int(self.expires.seconds),
        ]
        return SealedText.seal(members, for: SessionTransferCode.purpose, with: sealer)
    }

    /// The tag in the name of the cookie that holds the binding; the same as ``SessionTransferBinding/tag``.
    package var tag: String { SessionTransferBinding.tag(of: self.binding) }

    /// Shows that the code came back to the origin and the browser it was made for.
    ///
    /// - Parameters:
    ///   - origin: The origin that the code arrived at.
    ///   - cookie: The value of the cookie named after ``tag``, if the browser sent exactly one.
    /// - Returns: The proof that a session may begin.
    /// - Throws: `handover.wrong_origin` or `handover.other_browser`.
    func claim(
        at origin: Origin,
        cookie: (some Collection<UInt8>)?
    ) throws(Failure) -> SessionTransferClaim {
        guard origin == self.origin else {
            throw Failure(.sessionTransferWrongOrigin, "a code for \(self.origin) came to \(origin)")
        }
        guard let held = cookie.flatMap({ SessionTransferBinding($0) }), constantTimeEquals(held.hash, self.binding)
        else {
            throw Failure(.sessionTransferOtherBrowser, "the code does not belong to this browser")
        }
        return SessionTransferClaim(code: self)
    }
}

/// A code that is proved to be where it belongs.
struct SessionTransferClaim: Sendable {
    /// The code.
    let code: SessionTransferCode

    fileprivate init(code: SessionTransferCode) {
        self.code = code
    }

    /// The ticket that the browser has at the gate.
    var ticket: Ticket { self.code.ticket }
}
