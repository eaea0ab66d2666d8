// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The `state` that a provider returns when the browser has signed out there.
///
/// OpenID Connect RP-Initiated Logout §2. Sealed, so that the page after a sign-out cannot be forged and redirects only
/// where the sign-out was to lead; and bound to the browser by a cookie of the host where the user signed out, so that a
/// link with the state of another user leads nowhere.
package struct SignOutState: Sendable, Hashable {
    /// How long the user may stay at the provider.
    package static let lifetime = Duration.seconds(600)
    /// The maximum length of the return path; a provider puts the state into a URL.
    package static let maxPathBytes = 512
    private static let purpose = "sign-out/state"

    /// The name of the provider.
    package let provider: String
    /// Whether the browser was sent to the provider to sign out there as well.
    package let includesProvider: Bool
    /// Whether all sessions of the user have ended, not only those of the browser.
    package let isEverywhere: Bool
    /// Where the user signed out.
    package let origin: Origin
    /// Where the user returns afterwards.
    package let path: ReturnPath
    private let binding: [UInt8]
    private let expires: Instant

    /// The state of a sign-out that happens now in the browser with this binding.
    package init(
        provider: String,
        includesProvider: Bool,
        isEverywhere: Bool = false,
        origin: Origin,
        path: ReturnPath,
        binding: BrowserBinding,
        now: Instant
    ) {
        self.provider = provider
        self.includesProvider = includesProvider
        self.isEverywhere = isEverywhere
        self.origin = origin
        self.path = path.value.utf8.count <= SignOutState.maxPathBytes ? path : .root
        self.binding = binding.hash
        self.expires = now.advanced(by: SignOutState.lifetime)
    }

    /// Opens a state that this gateway sealed and that has not expired; nil for everything else.
    package init?(sealed text: String, by sealer: Sealer, now: Instant) {
        guard let json = sealer.openText(text, for: SignOutState.purpose) else { return nil }
        guard let provider = json["provider"]?.string, let includesProvider = json["complete"]?.bool,
            let origin = json["origin"]?.origin, let path = json["path"]?.string.flatMap(ReturnPath.init(requested:)),
            let binding = json["binding"]?.bytes(32), let everywhere = json["everywhere"]?.bool,
            let expires = json["expires"]?.integer
        else { return nil }
        guard now < Instant(seconds: expires) else { return nil }
        self.provider = provider
        self.includesProvider = includesProvider
        self.isEverywhere = everywhere
        self.origin = origin
        self.path = path
        self.binding = binding
        self.expires = Instant(seconds: expires)
    }

    /// Whether the user signed out in the browser that sent this value of the sign-out cookie, of the ``origin``.
    package func isBound(to cookie: some Collection<UInt8>) -> Bool {
        BrowserBinding(cookie).map { constantTimeEquals($0.hash, self.binding) } ?? false
    }

    /// The state as text for a URL.
    package func sealed(by sealer: Sealer) -> String {
        let members: [String: JSON] = [
            "provider": .string(self.provider), "complete": .bool(self.includesProvider),
            "everywhere": .bool(self.isEverywhere),
            "origin": .string("\(self.origin)"), "path": .string(self.path.value),
            "binding": .string(Base64URL.encode(self.binding)), "expires": .int(self.expires.seconds),
        ]
        return sealer.sealText(members, for: SignOutState.purpose)
    }
}
