// SPDX-License-Identifier: Apache-2.0

/// Something that must bear any bytes: what libFuzzer tries at random, and the tests again from the corpus.
///
/// The first byte of an input is no data; it says in which pieces the others arrive, and what varies otherwise.
package enum FuzzTarget: String, CaseIterable, Sendable {
    /// Requests of HTTP/1.1 with their bodies, one after the other.
    case request
    /// Answers of an upstream.
    case response
    /// The chunks of a body.
    case chunks
    /// The header of the PROXY protocol.
    case proxy
    /// The fields of a header block, each ended by 0x1E, its name by 0x1F.
    case block
    /// A client connection that speaks HTTP/1.1.
    case connection
    /// A client connection that speaks HTTP/2.
    case session
    /// A connection to an upstream that speaks HTTP/2.
    case upstream

    /// The rule that these bytes break; nil if all hold.
    package func fault(in bytes: [UInt8]) -> String? {
        guard let seed = bytes.first else { return nil }
        let input = Input(seed: seed, bytes: Array(bytes.dropFirst()))
        switch self {
        case .request: return RequestFuzzTarget.fault(in: input)
        case .response: return ResponseFuzzTarget.fault(in: input)
        case .chunks: return ChunkFuzzTarget.fault(in: input)
        case .proxy: return ProxyProtocolFuzzTarget.fault(in: input)
        case .block: return HTTP2FieldsFuzzTarget.fault(in: input)
        case .connection: return HTTP1ConnectionFuzzTarget.fault(in: input)
        case .session: return HTTP2ConnectionFuzzTarget.fault(in: input)
        case .upstream: return UpstreamFuzzTarget.fault(in: input)
        }
    }
}

/// The bytes of one try.
struct Input {
    let seed: UInt8
    let bytes: [UInt8]

    /// Whether this bit of the seed is set; the pieces depend on the lower four, and so variants on the upper ones.
    func has(_ bit: Int) -> Bool { self.seed >> UInt8(bit) & 1 == 1 }

    /// The bytes in pieces, of one byte each if the lower bits of the seed are clear.
    var pieces: [ArraySlice<UInt8>] {
        let most = self.seed & 0x0F == 0 ? 1 : 1 << Int(1 + self.seed & 0x07)
        var state = UInt32(self.seed) &* 2_654_435_761
        var rest = self.bytes[...]
        var pieces: [ArraySlice<UInt8>] = []
        while !rest.isEmpty {
            state = state &* 1_664_525 &+ 1_013_904_223
            let length = 1 + Int(state >> 16) % most
            pieces.append(rest.prefix(length))
            rest = rest.dropFirst(length)
        }
        return pieces
    }
}
