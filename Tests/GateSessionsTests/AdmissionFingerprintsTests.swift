// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateSessions
import Testing

@Suite struct AdmissionFingerprintsTests {
    private let gatewayHost = "gate.example.com"
    private let fixture = SessionFixture()

    private func manager(_ current: [String: String]) -> SessionManager {
        self.fixture.manager(admissions: AdmissionFingerprints(current))
    }

    @Test func `X-04: a session ends when the settings that admitted its user change`() async throws {
        let before = self.manager(["google": "a", "github": "x"])
        let issued = try await before.issue(SignIn(profile: .ada), host: self.gatewayHost, now: noon)
        #expect(try await before.session(for: issued.ticket, host: self.gatewayHost, now: noon) == issued.session)
        let other = self.manager(["google": "a", "github": "y"])
        #expect(try await other.session(for: issued.ticket, host: self.gatewayHost, now: noon) == issued.session)
        let after = self.manager(["google": "b", "github": "x"])
        #expect(try await after.session(for: issued.ticket, host: self.gatewayHost, now: noon) == nil)
        #expect(!after.admits(issued.session) && before.admits(issued.session))
    }

    @Test func `X-04: a session of a removed provider is invalid`() async throws {
        let issued = try await self.manager(["google": "a"]).issue(
            SignIn(profile: .ada),
            host: self.gatewayHost,
            now: noon
        )
        let after = self.manager(["github": "x"])
        #expect(try await after.session(for: issued.ticket, host: self.gatewayHost, now: noon) == nil)
    }

    @Test func `X-04: a session without a fingerprint is invalid`() async throws {
        let issued = try await self.fixture.signedIn()
        let manager = self.manager(["google": "a"])
        #expect(try await manager.session(for: issued.ticket, host: self.gatewayHost, now: noon) == nil)
    }

    @Test func `a fingerprint depends on every name and value and is the same in every process`() {
        let terms = [("type", "google"), ("client_id", "x")]
        let fingerprint = AdmissionFingerprints.fingerprint(of: terms)
        #expect(fingerprint == AdmissionFingerprints.fingerprint(of: terms) && fingerprint.utf8.count == 22)
        for other in [
            [("type", "google"), ("client_id", "y")], [("type", "google")], [("type", "googlec"), ("lient_id", "x")],
            [("client_id", "x"), ("type", "google")], [("type", "google"), ("client_id", "x"), ("tenant", "")],
        ] {
            #expect(AdmissionFingerprints.fingerprint(of: other) != fingerprint)
        }
    }
}
