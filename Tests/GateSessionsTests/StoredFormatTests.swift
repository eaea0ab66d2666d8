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
        AdFZbuhbNv0oERERERERERERERERERERERERERERERERERERERERERFltrngtNk1sXx3AuSS8E6AIhfWAp7ck5xxG6F0a1W-\
        GV4Cl9UJ5kOQUNvv6G9bF6dy0aze_wgo7ZG2lIwaP69mVrQAQLsw3jDW3Hfe5p0P9GixIkiCa2tfxcampLtyf-EAwkPHQgal\
        h8m3HwIFDQUa_Wun2V9I06HnFUp3chjgkBcQQWHh7lcQ-nK7H7W3zHvjVL0tfVNXHdFuJuEZ6K5npk2hWW3WhMO5qDNUmqX0\
        o2CmRy9BqYYe4myCvnk7poxAHDQqlUHPT7sSvDylPoWCvcNmlXyG05JUqkNKqNb2HCx4u6VPilVDYRu7nMj_8WBDzsJv0EjN\
        LUP-JcpdbKE-4ebxJLAPdTUXyGhwVQLHHFId9ETyp1O72upEK5yylo34-x-uOZx9KGBPkwHyGz1YDWOuHYKKxpXNnBsiPLl-\
        dVVPSGEMEgkwbGCGoOGl9WJ1xusXQdVIYVQxzhh7mFPIQjfYOi4iAeI-0e_WmsWTFCWVfmEEUnJYcRFMY7UFb6XllvBJYzIr\
        JS9flyNaaw
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

    @Test func `R-06: a ticket and a record of an earlier release are a session`() async throws {
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

    @Test func `a session transfer that began in an earlier release is completed`() async throws {
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

    @Test func `the state of a sign-out that began in an earlier release leads nowhere: no browser is bound to it`() {
        #expect(SignOutState(sealed: Self.signOutState, by: self.fixture.sealer, now: noon) == nil)
    }
}
