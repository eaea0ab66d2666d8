// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GateSessions
import Testing

/// The lifetimes of sessions of one app, and of the session cookie.
@Suite struct AppLifetimesTests {
    @Test func `an app has no lifetimes of its own unless the file has them`() throws {
        #expect(try Fixture.app().sessionLimits == SessionLimits())
        let app = try Fixture.app("    idle_timeout: 15m\n    lifetime: 7d")
        #expect(app.sessionLimits == SessionLimits(idle: .seconds(900), lifetime: .seconds(7 * 86_400)))
    }

    @Test(
        arguments: [
            (
                "idle_timeout: 13h", "",
                "'idle_timeout' is longer than the 12h of all apps; write at most 12h, or raise 'sessions.idle_timeout', "
                    + "which ends sessions for all apps"
            ),
            (
                "lifetime: 2h", "sessions: { lifetime: 1h, idle_timeout: 1h }",
                "'lifetime' is longer than the 1h of all apps; write at most 1h, or raise 'sessions.lifetime', "
                    + "which ends sessions for all apps"
            ),
            ("idle_timeout: 119s", "", "'119s' is out of range; it must be 2m to 3650d"),
            ("recheck: 0s", "", "'0s' is out of range; it must be 1s to 3650d"),
        ]
    )
    func `an app's lifetimes are no longer than those of all apps`(app: String, rest: String, message: String) {
        #expect(Fixture.remarks(Fixture.smallest(app: "    \(app)", rest: rest)) == ["error: \(message)"])
    }

    @Test func `an app's re-checks may be more or less frequent than those of all apps, with their max_stale`() throws {
        #expect(try Fixture.app().recheck == nil)
        let rest = "sessions: { recheck: 1h, max_stale: 5m }"
        for (text, interval) in [("5m", Duration.seconds(300)), ("2h", .seconds(7200)), ("never", nil)] {
            let file = Fixture.smallest(app: "    recheck: \(text)", rest: rest)
            let app = try #require(try Fixture.configuration(file).apps.first)
            #expect(app.recheck == RecheckPolicy(interval: interval, maxStale: .seconds(300)))
        }
    }

    @Test func `a user has any number of sign-ins unless the file has a limit`() throws {
        #expect(try Fixture.configuration(Fixture.smallest()).sessions.maxPerUser == nil)
        let text = Fixture.smallest(rest: "sessions: { max_per_user: 3 }")
        #expect(try Fixture.configuration(text).sessions.maxPerUser == 3)
        let none = Fixture.smallest(rest: "sessions: { max_per_user: 0 }")
        #expect(Fixture.remarks(none).count == 1 && Fixture.remarks(none).first?.hasPrefix("error: ") == true)
    }

    @Test func `browsers keep session cookies if the file sets it`() throws {
        #expect(try Fixture.configuration(Fixture.smallest()).sessions.cookie == .session)
        let text = Fixture.smallest(rest: "sessions: { cookie: persistent }")
        #expect(try Fixture.configuration(text).sessions.cookie == .persistent)
        let wrong = Fixture.smallest(rest: "sessions: { cookie: persistant }")
        #expect(Fixture.remarks(wrong) == ["error: 'persistant' is not a kind of cookie; did you mean 'persistent'?"])
    }
}
