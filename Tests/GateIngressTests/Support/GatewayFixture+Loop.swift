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

    /// The connection of a client.
    func source(of peer: String? = "192.0.2.1", tls: NegotiatedTLS? = nil) -> RequestSource {
        RequestSource(
            peer: peer.flatMap { IPAddress($0) },
            peerText: peer ?? "local",
            tls: tls,
            under: self.runtime
        )
    }

    /// A request of a client that has arrived, and what was looked up for it.
    func request(
        _ head: RequestHead,
        of peer: String? = "192.0.2.1",
        tls: NegotiatedTLS? = nil,
        lookedUp: LookedUp? = nil
    ) -> IngressRequest {
        let source = self.source(of: peer, tls: tls)
        let request = IngressRequest(head, over: source, on: self.loop)
        if let lookedUp { request.resume(on: self.loop, after: lookedUp) }
        return request
    }

    /// A request about which was decided.
    func decided(_ head: RequestHead, lookedUp: LookedUp? = nil) -> IngressRequest {
        let request = self.request(head, lookedUp: lookedUp)
        _ = request.decide(self.loop)
        return request
    }

    /// The decision about a request, in words.
    func verdict(_ head: RequestHead, tls: NegotiatedTLS? = nil, lookup: LookedUp? = nil) -> String {
        self.words(self.request(head, tls: tls, lookedUp: lookup).decide(self.loop))
    }

    /// A step in words.
    func words(_ step: Step) -> String {
        switch step {
        case .reject(_, let scopes) where !scopes.isEmpty: "scopes \(scopes.joined(separator: " "))"
        case .reject(let failure, _): "refused \(failure.code)"
        case .wrongMethod(let route): "method of \(route.name)"
        case .endpoint: "endpoint"
        case .respond(let status): "response \(status)"
        case .need(.session): "needs session"
        case .need(.verification): "needs verification"
        case .need(.messages): "needs messages"
        case .need(.proof): "needs proof"
        case .signIn(let route, .signIn): "sign in for \(route.name)"
        case .signIn(let route, .passkey): "passkey for \(route.name)"
        case .signIn(let route, .recheck(with: let provider)): "re-check for \(route.name) with \(provider)"
        case .forward(let route, let identity): "forwarded to \(route.name)\(identity == nil ? " unknown" : "")"
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
        try self.received(bytes, by: GatewayResponder(loop: self.loop, source: self.source()))
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
