// SPDX-License-Identifier: Apache-2.0

import GateTestSupport
import Testing

@testable import GateServer

@Suite struct SystemdNotifierTests {
    private func interval(_ time: String) -> Duration? {
        SystemdNotifier(environment: ["NOTIFY_SOCKET": "@gatehouse-test", "WATCHDOG_USEC": time]).watchdogInterval
    }

    @Test func `systemd hears from the gateway in half of the time that it allows, an hour at the most`() {
        #expect(self.interval("30000000") == .seconds(15))
        #expect(self.interval("1") == .microseconds(1))
        #expect(self.interval("7200000000") == .seconds(3600) && self.interval("7200000002") == .seconds(3600))
        #expect(SystemdNotifier(environment: ["WATCHDOG_USEC": "30000000"]).watchdogInterval == nil)
    }

    @Test(arguments: HostileNumbers.texts) func `B-05: any number of systemd is an interval within an hour, or none`(
        text: String
    ) {
        let interval = self.interval(text)
        #expect(interval.map { $0 > .zero && $0 <= .seconds(3600) } ?? true)
        #expect((interval == nil) == ((Int64(text) ?? 0) <= 0))
    }
}
