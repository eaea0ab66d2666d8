// SPDX-License-Identifier: Apache-2.0

/// A fuzz target: libFuzzer runs it with random bytes, the tests with the corpus.
///
/// The first byte of an input is a seed: it selects the pieces in which the other bytes arrive, and variants.
package enum FuzzTarget: String, CaseIterable, Sendable {
    /// HTTP/1.1 requests with their bodies, one after the other.
    case request
    /// Responses of an upstream.
    case response
    /// The chunks of a body.
    case chunks
    /// The header of the PROXY protocol.
    case proxy
    /// HTTP/2 fields, each ended by 0x1E, its name by 0x1F.
    case fields
    /// An HTTP/1.1 client connection.
    case connection
    /// An HTTP/2 client connection.
    case session
    /// An HTTP/2 upstream connection.
    case upstream
    /// What an authenticator writes about a passkey, at its registration if bit 4 of the seed is clear, else at its use.
    case passkey
    /// What is read from a store: replies of Redis if bit 4 of the seed is clear, else the times and the content of a value.
    case stored
    /// A header in which a proxy passes the certificate of its client on; the lower three bits of the seed are the form.
    case certificate

    /// The rule that these bytes violate, or nil.
    package func violation(in bytes: [UInt8]) -> String? {
        guard let seed = bytes.first else { return nil }
        let input = Input(seed: seed, bytes: Array(bytes.dropFirst()))
        switch self {
        case .request: return RequestFuzzTarget.violation(in: input)
        case .response: return ResponseFuzzTarget.violation(in: input)
        case .chunks: return ChunkFuzzTarget.violation(in: input)
        case .proxy: return ProxyProtocolFuzzTarget.violation(in: input)
        case .fields: return HTTP2FieldsFuzzTarget.violation(in: input)
        case .connection: return HTTP1ConnectionFuzzTarget.violation(in: input)
        case .session: return HTTP2ConnectionFuzzTarget.violation(in: input)
        case .upstream: return UpstreamFuzzTarget.violation(in: input)
        case .passkey: return PasskeyFuzzTarget.violation(in: input)
        case .stored: return StoredFuzzTarget.violation(in: input)
        case .certificate: return CertificateFuzzTarget.violation(in: input)
        }
    }
}

/// The bytes of one run.
struct Input {
    let seed: UInt8
    let bytes: [UInt8]

    /// Whether this bit of the seed is set; the lower four select the pieces, the upper ones variants.
    func has(_ bit: Int) -> Bool { self.seed >> UInt8(bit) & 1 == 1 }

    /// The bytes in pieces, of one byte each if the lower bits of the seed are clear.
    var pieces: [ArraySlice<UInt8>] {
        let maxLength = self.seed & 0x0F == 0 ? 1 : 1 << Int(1 + self.seed & 0x07)
        var state = UInt32(self.seed) &* 2_654_435_761
        var rest = self.bytes[...]
        var pieces: [ArraySlice<UInt8>] = []
        while !rest.isEmpty {
            state = state &* 1_664_525 &+ 1_013_904_223
            let length = 1 + Int(state >> 16) % maxLength
            pieces.append(rest.prefix(length))
            rest = rest.dropFirst(length)
        }
        return pieces
    }
}
