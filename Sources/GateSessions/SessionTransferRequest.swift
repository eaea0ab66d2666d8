// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// An app's host asks the gate, through the browser, for a session of its own.
package struct SessionTransferRequest: Sendable, Hashable {
    /// How long the person may take to sign in.
    package static let lifetime = Duration.seconds(600)
    private static let purpose = "handover/request"

    /// The origin that asks.
    package let origin: Origin
    /// Where the person was going there.
    package let path: ReturnPath
    /// The hash of the binding that the origin left with the browser.
    package let binding: [UInt8]
    /// When the request is no longer answered.
    package let expires: Instant

    /// A request that is answered for ten minutes.
    package init(origin: Origin, path: ReturnPath, binding: SessionTransferBinding, now: Instant) {
        self.origin = origin
        self.path = path
        self.binding = binding.hash
        self.expires = now.advanced(by: SessionTransferRequest.lifetime)
    }

    /// Opens a request that this gateway sealed and that has not expired; nil for everything else.
    package init?(sealed text: String, by sealer: Sealer, now: Instant) {
        self.init(sealed: text, by: sealer)
        guard now < self.expires else { return nil }
    }

    /// Opens a request that this gateway sealed, however long ago, to see where its user was going.
    package init?(sealed text: String, by sealer: Sealer) {
        guard let json = SealedText.open(text, for: SessionTransferRequest.purpose, with: sealer) else { return nil }
        guard let origin = json["origin"]?.origin, let path = json["path"]?.string.flatMap(ReturnPath.init),
            let binding = json["binding"]?.bytes(32), let expires = json["expires"]?.integer
        else { return nil }
        self.origin = origin
        self.path = path
        self.binding = binding
        self.expires = Instant(seconds: expires)
    }

    /// The request as text for an address.
    package func sealed(by sealer: Sealer) -> String {
        let members: [String: JSON] = [
            "origin": .string("\(self.origin)"), "path": .string(self.path.value),
            "binding": .string(Base64URL.encode(self.binding)), "expires": .int(self.expires.seconds),
        ]
        return SealedText.seal(members, for: SessionTransferRequest.purpose, with: sealer)
    }
}
