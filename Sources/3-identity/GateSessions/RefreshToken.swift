// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// A refresh token: the session of a client, and which of its refresh tokens this is.
///
/// The token of a generation is always the same text, so that a client whose response was lost gets it once more. RFC 6749
/// §1.5, RFC 9700 §4.14.2.
package struct RefreshToken: Sendable, Hashable {
    /// What the text begins with, so that secret scanners find tokens that have leaked.
    package static let prefix = "ghr_"
    private static let ticketCount = 32
    private static let tagCount = 16

    /// The number of the token, from 0.
    package let generation: Int
    let bytes: [UInt8]

    /// Whether a text has the form of a refresh token of this gateway; those of GitHub have the same prefix and are longer.
    package static func isOne(_ text: some StringProtocol) -> Bool {
        let count = Self.ticketCount + 4 + Self.tagCount
        return text.hasPrefix(Self.prefix) && text.utf8.count == Self.prefix.utf8.count + (count * 4 + 2) / 3
    }

    init(bytes: [UInt8], generation: Int) {
        self.bytes = bytes
        self.generation = generation
    }

    /// Parses a token; nil unless this gateway issued it for the client.
    package init?(_ text: String, for client: String, by sealer: Sealer) {
        guard text.hasPrefix(RefreshToken.prefix), text.utf8.count <= 128,
            let all = Base64URL.decode(String(text.dropFirst(RefreshToken.prefix.count))),
            all.count == RefreshToken.ticketCount + 4 + RefreshToken.tagCount
        else { return nil }
        let (message, tag) = (Array(all.dropLast(RefreshToken.tagCount)), Array(all.suffix(RefreshToken.tagCount)))
        guard sealer.authenticates(tag, of: message, for: RefreshToken.purpose(client)) else { return nil }
        self.bytes = Array(message.prefix(RefreshToken.ticketCount))
        self.generation = message.suffix(4).reduce(0) { $0 << 8 | Int($1) }
    }

    package func text(for client: String, by sealer: Sealer) -> String {
        let number = (0..<4).map { UInt8(truncatingIfNeeded: self.generation >> (24 - 8 * $0)) }
        let message = self.bytes + number
        let tag = sealer.tag(of: message, for: RefreshToken.purpose(client), count: RefreshToken.tagCount)
        return RefreshToken.prefix + Base64URL.encode(message + tag)
    }

    private static func purpose(_ client: String) -> String { "client/refresh/\(client)" }
}
