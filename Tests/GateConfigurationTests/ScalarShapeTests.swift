// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProviders
import Testing

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
}
