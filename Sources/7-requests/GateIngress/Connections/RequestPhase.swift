// SPDX-License-Identifier: Apache-2.0

internal import GateEndpoints
internal import GateHeaders
internal import NIOCore

/// What a responder does with its request at the moment.
enum RequestPhase {
    case idle
    /// It is decided about, or its body is not looked at.
    case deciding
    /// The session store, an issuer or an endpoint is waited for.
    case waiting(Task<Void, Never>)
    /// Its body is read for a rule about the messages in it.
    case readingMessages(MessageIntake)
    /// Its body is read, the message in which Envoy asks.
    case readingCheck
    /// Its body is read for an endpoint.
    case readingForEndpoint
    /// It is forwarded.
    case forwarding(UpstreamExchange)

    /// How many bytes of the body may be held.
    var maxHeld: Int {
        switch self {
        case .readingForEndpoint: EndpointRequest.maxBody
        case .readingCheck: CheckRequest.maxBytes
        // A body that is not looked at waits in the connection, which does not read on.
        case .idle, .deciding, .waiting, .readingMessages, .forwarding: .max
        }
    }
}

/// The reading of messages to an MCP server: how many bytes they may have, who sends them, and how many count as held by the loop.
struct MessageIntake {
    let limit: Int
    let family: [UInt8]
    private(set) var counted = 0

    /// Bytes of the body count as held, if there are not too many of the sender's or of all.
    mutating func take(_ count: Int, from held: inout HeldMessages) -> Bool {
        guard held.take(count, of: self.family, bodyLimit: self.limit) else { return false }
        self.counted += count
        return true
    }

    /// No bytes count as held any more.
    func release(from held: inout HeldMessages) { held.release(self.counted, of: self.family) }
}

/// What has arrived of a body before it could be passed on.
struct HeldBody {
    private(set) var parts: [ByteBuffer] = []
    private(set) var count = 0
    /// Whether the whole request has arrived.
    var isComplete: Bool

    /// Nothing has arrived that was not taken.
    init(isComplete: Bool = false) { self.isComplete = isComplete }

    /// Adds a part.
    mutating func append(_ part: ByteBuffer) {
        self.parts.append(part)
        self.count += part.readableBytes
    }

    /// Takes what has arrived.
    mutating func take() -> [ByteBuffer] {
        guard !self.parts.isEmpty else { return [] }
        defer { self.parts = [] }
        return self.parts
    }

    /// All bytes that have arrived.
    var bytes: [UInt8] { self.parts.flatMap { Array($0.readableBytesView) } }
}
