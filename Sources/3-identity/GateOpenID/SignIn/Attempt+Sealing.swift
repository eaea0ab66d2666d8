// SPDX-License-Identifier: Apache-2.0

package import GateCore

// An attempt as the value of its cookie.
//
// The purpose is bound to the cookie's name, so that the value of one attempt's cookie opens nothing in another's.
// Values are base64url: about 500 characters, and at most 2500 with the longest return path and ticket.
extension Attempt {
    private static let maxSealedSize = 2500

    /// The value of the cookie of that name.
    package func sealed(by sealer: Sealer, cookie name: String) -> String {
        Base64URL.encode(sealer.seal(self.encoded, for: Attempt.purpose(name)))
    }

    /// The attempt in the value of the cookie of that name; nil if the value is forged or was changed.
    ///
    /// The attempt may have expired; ``RelyingParty/accept(_:of:)`` rejects it then.
    package init?(sealed value: String, by sealer: Sealer, cookie name: String) {
        guard value.utf8.count <= Attempt.maxSealedSize, let sealed = Base64URL.decode(value) else { return nil }
        guard let plain = sealer.open(sealed, for: Attempt.purpose(name)) else { return nil }
        self.init(encoded: plain)
    }

    private static func purpose(_ name: String) -> String { "attempt/\(name)" }

    /// A version byte, 2 for a silent attempt and 3 for one with a demand, the expiry in eight bytes, then each text after its length in
    /// two bytes; an absent one has the length 65535.
    private var encoded: [UInt8] {
        var bytes: [UInt8] = [self.isSilent ? 2 : self.demand == nil ? 1 : 3]
        for shift in stride(from: 56, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: self.expiry.seconds >> Int64(shift)))
        }
        let texts = [self.state, self.nonce, self.verifier, self.provider, self.returnPath.value, self.replacedTicket]
        let demand = self.demand.map { [$0.encoded] } ?? []
        for text in texts + demand {
            let length = text.map { min($0.utf8.count, 65_534) } ?? 65_535
            bytes += [UInt8(length >> 8), UInt8(length & 0xFF)]
            bytes += Array((text ?? "").utf8.prefix(65_534))
        }
        return bytes
    }

    private init?(encoded bytes: [UInt8]) {
        guard bytes.count > 9, (1...3).contains(bytes[0]) else { return nil }
        let hasDemand = bytes[0] == 3
        let expiry = bytes[1..<9].reduce(Int64(0)) { $0 << 8 | Int64($1) }
        var rest = bytes[9...]
        var texts: [String?] = []
        while texts.count < (hasDemand ? 7 : 6) {
            guard rest.count >= 2 else { return nil }
            let length = Int(rest.removeFirst()) << 8 | Int(rest.removeFirst())
            guard length != 65_535 else {
                texts.append(nil)
                continue
            }
            guard rest.count >= length, let text = String(validating: rest.prefix(length), as: UTF8.self) else {
                return nil
            }
            texts.append(text)
            rest = rest.dropFirst(length)
        }
        guard let state = texts[0], let nonce = texts[1], let verifier = texts[2], let provider = texts[3],
            let returnPath = texts[4].flatMap({ ReturnPath(requested: $0) }), let id = Attempt.id(inState: state),
            rest.isEmpty
        else { return nil }
        let demand = hasDemand ? texts[6].flatMap { AuthenticationDemand(encoded: $0) } : nil
        guard hasDemand == (demand != nil) else { return nil }
        self.init(
            id: id,
            state: state,
            nonce: nonce,
            verifier: verifier,
            provider: provider,
            returnPath: returnPath,
            replacedTicket: texts[5],
            expiry: Instant(seconds: expiry),
            isSilent: bytes[0] == 2,
            demand: demand
        )
    }
}
