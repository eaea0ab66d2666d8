// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GateConfiguration

@Suite struct HeaderNameTests {
    @Test(arguments: ["X-WEBAUTH-USER", "Remote-User", "X-Email"])
    func `a header name of letters, digits and hyphens can be used`(name: String) {
        #expect(HeaderSetting.reason(against: name) == nil)
    }

    @Test(
        arguments: [
            "", "X_User", "X.User", "X User", "Host", "COOKIE", "authorization", "Transfer-Encoding", "Content-Length",
            "Connection", "X-Forwarded-For", "x-forwarded-host", "Forwarded", "X-Request-Id", "Pragma",
            "X-Gatehouse-Assertion",
            String(repeating: "a", count: 65), "X-\u{00C9}",
        ])
    func `a header name with a meaning of its own, or of other characters, cannot`(name: String) {
        #expect(HeaderSetting.reason(against: name) != nil)
    }
}
