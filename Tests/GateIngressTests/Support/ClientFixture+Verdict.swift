// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateFixtures
import GateSessions
import NIOCore
import Testing

@testable import GateIngress
@testable import GateRuntime

extension ClientFixture {
    /// The verdict of an app on a request with a token, its session looked up if need be.
    func verdict(on token: String, at host: String = "desk.example.com") async throws -> String {
        let head = try self.gateway.head("GET /", host, "Authorization: Bearer \(token)\r\n")
        // Far enough for the loop to read the clock again.
        self.gateway.loop.advance(to: self.gateway.loop.tick + .seconds(1))
        let request = self.gateway.request(head)
        let step = request.decide(self.gateway.loop)
        guard case .need(.session(let sought)) = step else { return self.gateway.words(step) }
        let lookUp = SessionLookUp(runtime: self.gateway.runtime, route: request.route)
        let found = try await lookUp.session(for: sought.ticket, host: sought.host, mayAskUser: false)
        if case .session(let session) = found {
            let key = try #require(CookieKey(sought.ticket))
            self.gateway.loop.sessions.insert(session, for: key, freshFor: .seconds(30), now: self.gateway.loop.tick)
        }
        request.resume(on: self.gateway.loop, after: .done)
        return self.gateway.words(request.decide(self.gateway.loop))
    }
}
