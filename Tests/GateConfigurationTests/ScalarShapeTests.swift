// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProviders
import Testing

@testable import GateConfiguration

@Suite struct ScalarShapeTests {
    @Test(
        arguments: [
            ("https://gate.example.com", true), ("http://localhost:8080", true), ("http://127.0.0.1", true),
            ("http://gate.localhost", false), ("https://10.0.0.1", false), ("https://gate", false),
            ("https://gate.local", false), ("https://127.0.0.1:8443", true),
        ])
    func `Google takes public names, and http on this machine`(address: String, isTaken: Bool) throws {
        let origin = try #require(WebURL(address)?.origin)
        #expect((ProviderType.google.redirects.rejection(of: origin) == nil) == isTaken)
    }

    @Test(
        arguments: [
            ("https://gate.internal", true), ("http://localhost:8080", true), ("http://127.0.0.1:8080", false),
            ("http://[::1]:8080", false), ("https://10.0.0.1", true),
        ])
    func `Microsoft takes http for localhost only`(address: String, isTaken: Bool) throws {
        let origin = try #require(WebURL(address)?.origin)
        #expect((ProviderType.microsoft.redirects.rejection(of: origin) == nil) == isTaken)
    }

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
