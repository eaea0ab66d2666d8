// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateEndpoints
import GateFixtures
import GateHTTP
import GateSessions
import GateTestSupport
import GateWire
import NIOCore
import NIOEmbedded
import Testing

@testable import GateIngress
@testable import GateRuntime

extension GatewayFixture {
    /// The state of the event loop that serves the requests of a test.
    var loop: LoopState {
        self.companions.one { LoopState(loop: EmbeddedEventLoop(), runtime: self.runtime, clock: self.clock.clock) }
    }

    /// A new session of a user on a host, known to the loop.
    func cachedSession(of profile: Profile, on host: String = GatewayFixture.gate) async throws -> Ticket {
        let issued = try await self.session(of: profile, on: host)
        let key = try #require(CookieKey(issued.ticket))
        self.loop.sessions.insert(issued.session, for: key, freshFor: .seconds(30), now: .now())
        return issued.ticket
    }

    /// The verdict on a request, in words.
    func verdict(_ head: RequestHead, tls: NegotiatedTLS? = nil, lookup: SessionLookup? = nil) -> String {
        self.words(RequestPath(runtime: self.runtime, loop: self.loop).verdict(for: head, over: tls, lookup: lookup))
    }

    /// A verdict in words.
    func words(_ verdict: Verdict) -> String {
        switch verdict {
        case .refused(let failure): "refused \(failure.code)"
        case .scopesNeeded(let scopes, _): "scopes \(scopes.joined(separator: " "))"
        case .wrongMethod(let route): "method of \(route.name)"
        case .endpoint: "endpoint"
        case .respond(let status): "response \(status)"
        case .needsSession: "needs session"
        case .needsVerification: "needs verification"
        case .needsMessages: "needs messages"
        case .signInNeeded(let route, .signIn): "sign in for \(route.name)"
        case .signInNeeded(let route, .passkey): "passkey for \(route.name)"
        case .signInNeeded(let route, .recheck(with: let provider)): "re-check for \(route.name) with \(provider)"
        case .forwarded(let route, let identity): "forwarded to \(route.name)\(identity == nil ? " unknown" : "")"
        }
    }
}

extension GatewayFixture {
    /// What a client on a plain connection receives for these bytes.
    func received(_ text: String) throws -> String {
        String(decoding: try self.received(Array(text.utf8)), as: UTF8.self)
    }

    /// The same, as bytes.
    func received(_ bytes: [UInt8]) throws -> [UInt8] {
        let responder = GatewayResponder(
            loop: self.loop,
            peer: IPAddress("192.0.2.1"),
            peerText: "192.0.2.1",
            tls: nil
        )
        return try self.received(bytes, by: responder)
    }

    /// What a client on a plain connection with that responder receives.
    func received(_ bytes: [UInt8], by responder: any Responder) throws -> [UInt8] {
        let names = self.runtime.fieldNames
        let setting = DownstreamEnvironment(
            limits: DownstreamLimits(),
            names: { names },
            sweep: self.loop.sweep,
            isDraining: { false }
        )
        let connection = HTTP1Connection(environment: setting, peer: nil, tls: nil, responder: responder)
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandler(connection)
        try channel.writeInbound(ByteBuffer(bytes: bytes))
        var received: [UInt8] = []
        while let part = try channel.readOutbound(as: ByteBuffer.self) {
            received += part.readableBytesView
        }
        return received
    }
}
