// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateFixtures
import GatePasskeys
import GateSessions
import GateTestSupport
import GateWire
import Testing

@testable import GateEndpoints
@testable import GateRuntime

/// the form of a page about passkeys works once, in its sign-in, for ten minutes.
@Suite struct PasskeyCeremonyTests {
    private let gateway: GatewayFixture

    init() throws {
        self.gateway = try GatewayFixture()
    }

    private func session(_ subject: String = "ada") async throws -> Session {
        let profile = Profile(provider: "staff", issuer: "https://id.staff.example", subject: subject)
        return try await self.gateway.session(of: profile).session
    }

    /// A form of a page, as the browser sends it.
    private func form(_ purpose: PasskeyCeremony.Purpose, of session: Session) -> Form {
        let ceremony = PasskeyCeremony(
            purpose,
            handle: [1, 2, 3],
            isFirst: purpose == .change,
            returnPath: nil,
            of: session,
            now: self.gateway.clock.now,
            random: self.gateway.runtime.services.random
        )
        return Form([Form.Field(PasskeyCeremony.field, ceremony.sealed(by: self.gateway.runtime.sealer))])
    }

    private func opened(_ form: Form) throws -> PasskeyCeremony {
        try #require(PasskeyCeremony(in: form, by: self.gateway.runtime.sealer))
    }

    private static let purposes: [PasskeyCeremony.Purpose] = [.use, .confirm, .change]

    @Test(arguments: purposes, [(599, true), (600, false), (3600, false)] as [(Int64, Bool)])
    func `a form is over after ten minutes`(
        purpose: PasskeyCeremony.Purpose,
        after: (seconds: Int64, isGood: Bool)
    ) async throws {
        let session = try await self.session()
        let ceremony = try self.opened(self.form(purpose, of: session))
        let later = self.gateway.clock.now.advanced(by: .seconds(after.seconds))
        #expect(ceremony.isCurrent(in: session, now: later) == after.isGood)
    }

    @Test(arguments: purposes)
    func `a form belongs to one sign-in, also of the same user`(purpose: PasskeyCeremony.Purpose) async throws {
        let ceremony = try self.opened(self.form(purpose, of: try await self.session()))
        #expect(!ceremony.isCurrent(in: try await self.session(), now: self.gateway.clock.now))
        #expect(!ceremony.isCurrent(in: try await self.session("eve"), now: self.gateway.clock.now))
    }

    @Test(arguments: purposes)
    func `a form is spent once, and another one of the same page is another`(
        purpose: PasskeyCeremony.Purpose
    ) async throws {
        let session = try await self.session()
        let (first, second) = (self.form(purpose, of: session), self.form(purpose, of: session))
        let sessions = self.gateway.runtime.sessions
        #expect(try await sessions.spend(self.opened(first).once))
        #expect(try await !sessions.spend(self.opened(first).once))
        #expect(try await sessions.spend(self.opened(second).once))
    }

    @Test func `a form that the gateway has not sealed is rejected`() async throws {
        let session = try await self.session()
        let sealed = try #require(self.form(.use, of: session)[PasskeyCeremony.field])
        var changed = Array(sealed.utf8)
        changed[20] = changed[20] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        for text in ["", "x", String(decoding: changed, as: UTF8.self)] {
            let form = Form([Form.Field(PasskeyCeremony.field, text)])
            #expect(PasskeyCeremony(in: form, by: self.gateway.runtime.sealer) == nil)
        }
        let other = try GatewayFixture(secrets: [8])
        #expect(PasskeyCeremony(in: self.form(.use, of: session), by: other.runtime.sealer) == nil)
    }
}
