// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The random bytes that make a response useless for any other ceremony.
///
/// The caller makes them, keeps them in the session for a few minutes and accepts one response for them. WebAuthn §13.4.3.
package struct PasskeyChallenge: Sendable, Hashable {
    /// How many bytes a challenge may have.
    package static let lengths = 16...64

    /// The challenge as options and client data have it, base64url.
    package let text: String

    /// A new challenge of 32 bytes.
    package init(from random: RandomBytes) {
        self.text = Base64URL.encode(random.bytes(32))
    }

    /// Takes random bytes.
    ///
    /// - Throws: `challengeLength`, unless there are 16 to 64.
    package init(_ bytes: [UInt8]) throws(PasskeyError) {
        guard PasskeyChallenge.lengths.contains(bytes.count) else { throw .challengeLength(bytes.count) }
        self.text = Base64URL.encode(bytes)
    }
}
