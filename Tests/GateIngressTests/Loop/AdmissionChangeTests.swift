// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateFixtures
import GateSessions
import Testing

@testable import GateIngress
@testable import GateRuntime

@Suite struct AdmissionChangeTests {
    @Test func `X-04: a reload that changes who is admitted drops sessions from the caches of the loops`() async throws
    {
        let before = AdmissionFingerprints(["staff": "a", "guests": "g"])
        let gateway = try GatewayFixture(admissions: before)
        let ada = try await gateway.session(of: .staff())
        let guest = try await gateway.session(of: .guest)
        for issued in [ada, guest] {
            gateway.loop.remember(issued.session, of: issued.ticket, in: gateway.runtime.sessions)
        }
        #expect(gateway.loop.sessions.count == 2)
        let after = try GatewayFixture(admissions: AdmissionFingerprints(["staff": "b", "guests": "g"]))
        gateway.loop.replace(with: after.runtime)
        #expect(gateway.loop.sessions.count == 1)
        // A look-up that began before the reload ends after it.
        gateway.loop.remember(ada.session, of: ada.ticket, in: gateway.runtime.sessions)
        #expect(gateway.loop.sessions.count == 1)
    }
}
