// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// What an app's host leaves with a browser before it sends it to the gate, so that only this browser can return.
///
/// The browser holds 256 random bits in a cookie of that host; the request and the code carry their hash.
package struct SessionTransferBinding: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    private let bytes: [UInt8]

    /// A fresh binding.
    package init(from random: RandomBytes) {
        self.bytes = random.bytes(32)
    }

    /// Reads the value of the cookie, or nil unless it is one.
    package init?(_ text: some Collection<UInt8>) {
        guard text.count == 43, let bytes = Base64URL.decode(text) else { return nil }
        self.bytes = bytes
    }

    /// The value of the cookie: 43 characters of base64url.
    package var text: String { Base64URL.encode(self.bytes) }

    /// The hash that request and code carry.
    package var hash: [UInt8] { digest("handover/binding", self.bytes) }

    /// Eight hexadecimal digits for the name of the cookie, so that several hand-overs do not disturb each other.
    package var tag: String { SessionTransferBinding.tag(of: self.hash) }

    /// A mark instead of the value.
    package var description: String { "<binding>" }

    /// Hides the bytes from `dump` and test output as well.
    package var customMirror: Mirror { Mirror(self, children: [:]) }

    /// The first eight hexadecimal digits of a hash.
    static func tag(of hash: [UInt8]) -> String {
        hash.prefix(4).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
