// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// Binds a sealed text that travels through a URL to the browser that began, a session transfer or a sign-out.
///
/// The host where it began sets a cookie with 256 random bits; the text carries their hash.
package struct BrowserBinding: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    private let bytes: [UInt8]

    /// A fresh binding.
    package init(from random: RandomBytes) {
        self.bytes = random.bytes(32)
    }

    /// Parses the value of the cookie; nil if it is malformed.
    package init?(_ text: some Collection<UInt8>) {
        guard text.count == 43, let bytes = Base64URL.decode(text) else { return nil }
        self.bytes = bytes
    }

    /// The value of the cookie: 43 characters of base64url.
    package var text: String { Base64URL.encode(self.bytes) }

    /// The hash that the sealed text carries; of no use without the bits, so all purposes have the same.
    package var hash: [UInt8] { digest("handover/binding", self.bytes) }

    /// Eight hexadecimal digits for the name of the cookie, so that concurrent session transfers have separate cookies.
    package var tag: String { GatewayCookie.tag(of: self.hash) }

    /// A placeholder instead of the value.
    package var description: String { "<binding>" }

    /// Hides the bytes from `dump` and test output as well.
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
