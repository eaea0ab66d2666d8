// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The request of an app's host for a session, sent through the browser to the gateway's host.
package struct SessionTransferRequest: Sendable, Hashable {
    /// How long the user may take to sign in.
    package static let lifetime = Duration.seconds(600)
    private static let purpose = "handover/request"

    package let origin: Origin
    /// The requested path on that origin.
    package let path: ReturnPath
    /// The hash of the binding in the browser's cookie.
    package let binding: [UInt8]
    package let expires: Instant
    /// The time since which the user must have used a passkey, as a rule asks; nil if none does.
    package let passkeySince: Instant?

    /// A request that is valid for ten minutes.
    package init(
        origin: Origin,
        path: ReturnPath,
        binding: BrowserBinding,
        needsPasskey: Bool = false,
        now: Instant
    ) {
        self.origin = origin
        self.path = path
        self.binding = binding.hash
        self.expires = now.advanced(by: SessionTransferRequest.lifetime)
        self.passkeySince = needsPasskey ? now : nil
    }

    /// Opens a request that this gateway sealed and that has not expired; nil for everything else.
    package init?(sealed text: String, by sealer: Sealer, now: Instant) {
        self.init(sealed: text, by: sealer)
        guard now < self.expires else { return nil }
    }

    /// Opens a request that this gateway sealed, expired or not, for the path that the user requested.
    package init?(sealed text: String, by sealer: Sealer) {
        guard let json = sealer.openText(text, for: SessionTransferRequest.purpose) else { return nil }
        guard let origin = json["origin"]?.origin,
            let path = json["path"]?.string.flatMap(ReturnPath.init(requested:)),
            let binding = json["binding"]?.bytes(32), let expires = json["expires"]?.integer
        else { return nil }
        self.origin = origin
        self.path = path
        self.binding = binding
        self.expires = Instant(seconds: expires)
        self.passkeySince = json["passkey"]?.integer.map(Instant.init(seconds:))
    }

    /// The request as text for a URL.
    package func sealed(by sealer: Sealer) -> String {
        var members: [String: JSON] = [
            "origin": .string("\(self.origin)"), "path": .string(self.path.value),
            "binding": .string(Base64URL.encode(self.binding)), "expires": .int(self.expires.seconds),
        ]
        members["passkey"] = self.passkeySince.map { .int($0.seconds) }
        return sealer.sealText(members, for: SessionTransferRequest.purpose)
    }
}
