// SPDX-License-Identifier: Apache-2.0

import GateCore
import Synchronization
import Testing

@testable import GateSessions

/// Values that an independent implementation of the stored formats made with the secret, ticket and time of the fixtures.
///
/// A change of a purpose, a member name or a hash would end every session at an upgrade.
@Suite struct StoredFormatTests {
    private static let ticket = "paWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWnOrJHzBO0k-JV"
    private static let record = """
        AdFZbuhbNv0oERERERERERERERERERERERERERERERERERERERERERFltrngtNk1sXx3AuSS8E6AIhfWAp7ck5xxG6F0a0i1\
        HkMVnpJX9UGRWNvv6G9bF7tgmODZ0h4s6oe72dgJPb0-EvBAA7Ev3XvXnHb59JUM62TwLwXVZmZF1ZT5vPI8e-xC3hmcDRCo\
        j464CUIbSkdctyj2yxwfmKr_QxV7cQHslAsFCX6grRhauSOmWa2viWn-Vb55Jx4YBNlUfO0d4OJpvgagSGfakpntq2dFhqWx\
        5U-gRyJNq8EG-nKT6zo__NBMQyV70wytWrEctyWlPonbqYwh1D-K0tEH5H1YrOT6AiRwr-sQ0ERZaRW12d_95Xlcs45RgFLf\
        JUD8Ja0FPLMporHmJYAZaitFnlYmQ1ScDkZKzETyp1O72upEK4yyjpr86knxQIR6LnRM2QHIRXBEDmOEC5_dm9_RylUJbfAl\
        O1JKCVNVXhQwMXKMvaTzsiRi3fZGV9gXclgkyAlwngLcBz_YMiUrSqN9nr6P2t-EGCfeICZHUjVWNAgBPugd2q7AziZ41Uef\
        gT63ZxvVLCtoGLoz94Ii0Fl6zNO5nb4p1hC3WrOs
        """
    private static let transferRequest = """
        AdFZbuhbNv0oERERERERERERERERERERERERERERERERERERERERERF8CkZF2pO6EnlHvWN8t_zio5ba5lqUjjl3Kct1G1bc\
        tPJDySiCu6d9GpcJ9UIyp61Vxjkcli7ucJExYQ5oM0DLRMD0XjDM-wgtXD0f2d9LNUawYYlTKKwaMcGlGMOS7me_Hmb7wM1k\
        BN0uw2w0P1TQVkMk7gTA0bgsalPxJsp3KpU_WsshNqa_LasOudZI
        """
    private static let transferCode = """
        AdFZbuhbNv0oERERERERERERERERERERERERERERERERERERERERERHBYpPL0QZRbXrONk9NDq70IAd3dq4KeRth2GFNA8Au\
        SfXFOe4mf5MYH48XFSddE4zvAGpHphiegWH5JOQT2pFJ5LmNSZZhU5E8Zoilm6Rkul0TAJYrtvtZ-hxcGPlm2TqSs8s6gC6X\
        qwNSPAi7Ee118vc8pPKEIEbtnRidOcpFje6EW46UOQJHSxe6Vhl92ZEW6bp28fY2wtjjrFzZhuMZk04X1ykyPK71x-gCrKCB\
        qyk66HPTlOloKYRekycGmElVwk5t3I4uTGuTMupkl1CkTKBytGyMptpr9cjf07Xsyw
        """
    private static let signOutState = """
        AdFZbuhbNv0oERERERERERERERERERERERERERERERERERERERERERGU1TpTLBB-_oimU9n0qm39nSZQawZWZgy0GN30E9o2\
        v8kGyVGLowvkciEo_HZDBW9Ne8lAO7psVQdjsmi83QnQJEHUpzWIGi0qsdBsGV5CrfS1hDSTbg-5DjTQPWRAzQG3YKHZbhrN\
        F2f9K8Bhu4jMcxNas_iR7SJgnA
        """
    private static let binding = "QkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkI"

    private let fixture = SessionFixture()
    private let host = "gate.example.com"

    /// A store with the record of the ticket.
    private func insertRecord() async throws {
        let record = SessionRecord(
            key: try #require(Base64URL.decode("-zIjdHe1TRc7Zz9sgX2502SMgcNn06LO_YYjotBQ4RI")),
            family: try #require(Base64URL.decode("RDp3FpTWxlzqeX6WFi-pwY5PoRZYCOfslx_lJa2sQs0")),
            sealed: try #require(Base64URL.decode(Self.record)),
            created: noon,
            lastSeen: noon,
            expires: noon.plus(8 * 3600)
        )
        try await self.fixture.store.insert(record)
    }

    @Test func `R-06: a ticket and a record of the stored format are a session`() async throws {
        try await self.insertRecord()
        let ticket = try #require(self.fixture.manager.ticket(Self.ticket.utf8, host: self.host))
        let found = try await self.fixture.manager.session(for: ticket, host: self.host, now: noon)
        let session = try #require(found)
        #expect(session.id == "sid-1" && session.family == "family-1" && session.profile.user == "google:1")
        #expect(
            session.profile.email == "ada@example.com" && session.profile.emailVerified
                && session.profile.groups == ["staff"]
        )
        #expect(session.profile.groupsComplete && session.profile.groupsRequested == ["staff"])
        #expect(session.endSession == "https://id.example.com/end" && session.admission == "fingerprint")
        #expect(session.idToken?.withText { $0 } == "e30.e30.e30")
        #expect(session.familyKey == Base64URL.decode("RDp3FpTWxlzqeX6WFi-pwY5PoRZYCOfslx_lJa2sQs0"))
    }

    @Test func `R-06: a session transfer that began before an upgrade is completed`() async throws {
        try await self.insertRecord()
        let origin = try #require(Origin(scheme: "https", host: "wiki.example.com"))
        let request = try #require(
            SessionTransferRequest(sealed: Self.transferRequest, by: self.fixture.sealer, now: noon)
        )
        let code = try #require(SessionTransferCode(sealed: Self.transferCode, by: self.fixture.sealer, now: noon))
        #expect(request.origin == origin && request.path.value == "/a" && request.binding.count == 32)
        let issued = try await self.fixture.manager.redeem(
            code,
            at: origin,
            cookie: Self.binding.utf8,
            gatewayHost: self.host,
            now: noon
        )
        #expect(issued?.session.family == "family-1")
        #expect(issued?.ticket.text == "Nxx0kfyFxDfbkHwBk0wvBSkO5LjI4pzXJ9bceYGhM72Zfg8BZIAip-sh")
        let spent = self.fixture.store.state.withLock { $0.spent }
        #expect(spent == [Base64URL.decode("THMCOvHDagWfLy9fq-JV-JbfbBDreRH3WLnrwuKJUDA") ?? []])
    }

    @Test func `the state of a sign-out that no browser is bound to leads nowhere`() {
        #expect(SignOutState(sealed: Self.signOutState, by: self.fixture.sealer, now: noon) == nil)
    }
}
