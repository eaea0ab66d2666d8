// SPDX-License-Identifier: Apache-2.0

package import GateCore

// A ticket inside a token that others can read, in 56 characters: a seal would be more than twice as long, and each request has it.
extension Ticket {
    private static let maskPurpose = "client/access"
    private static let randomCount = 32

    /// The ticket under a mask that only this gateway can take off.
    ///
    /// The mask is a message authentication code of the token's id, so no two tokens have the same. Nothing protects it from changes
    /// but the signature of the token.
    ///
    /// - Parameters:
    ///   - id: The id of the token, random.
    ///   - sealer: Has the secret.
    /// - Returns: The text.
    package func masked(for id: String, by sealer: Sealer) -> String {
        let mask = sealer.tag(of: Array(id.utf8), for: Ticket.maskPurpose, count: Ticket.randomCount)
        return Base64URL.encode(zip(self.bytes, mask).map { $0 ^ $1 } + self.tag)
    }

    /// Takes the mask off; nil unless the ticket is one of this gateway for a host.
    package init?(masked text: String, for id: String, host: String, by sealer: Sealer) {
        guard text.utf8.count == Ticket.textCount, let all = Base64URL.decode(text) else { return nil }
        let tag = Array(all.dropFirst(Ticket.randomCount))
        for mask in sealer.tags(of: Array(id.utf8), for: Ticket.maskPurpose, count: Ticket.randomCount) {
            let bytes = zip(all, mask).map { $0 ^ $1 }
            guard sealer.authenticates(tag, of: bytes, for: SessionManager.ticketPurpose(host)) else { continue }
            self.init(bytes: bytes, tag: tag)
            return
        }
        return nil
    }
}
