// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProviders
import Testing

@Suite struct RedirectRuleTests {
    @Test(
        arguments: [
            (.google, "https://gate.example.com", true), (.google, "http://localhost:8080", true),
            (.google, "http://127.0.0.1:8080", true), (.google, "http://gate.example.com", false),
            (.google, "https://10.0.0.5", false), (.google, "https://gate.internal", false),
            (.google, "https://gate", false), (.microsoft, "http://localhost:8080", true),
            (.microsoft, "http://127.0.0.1:8080", false), (.microsoft, "https://gate.internal", true),
            (.microsoft, "https://10.0.0.5", true), (.apple, "https://gate.example.com", true),
            (.apple, "http://gate.example.com", false), (.apple, "http://localhost:8080", false),
            (.apple, "https://10.0.0.5", false), (.apple, "https://gate.internal", false),
            (.github, "http://gate.internal", true), (.oidc, "http://10.0.0.5", true),
            (.oauth2, "http://gate", true), (.discord, "http://localhost:1", true),
        ] as [(ProviderType, String, Bool)]
    )
    func `a provider rejects a callback if its documentation states it`(
        type: ProviderType,
        address: String,
        isAccepted: Bool
    ) throws {
        let origin = try #require(WebURL(address)?.origin)
        #expect((type.redirects.rejection(of: origin) == nil) == isAccepted)
    }

    @Test(arguments: ["https://localhost", "http://localhost:8080", "https://127.0.0.1:8443", "https://gate.local"])
    func `Apple takes no callback on this machine or under a private name`(address: String) throws {
        let origin = try #require(WebURL(address)?.origin)
        #expect(ProviderType.apple.redirects.rejection(of: origin) != nil)
    }

    @Test func `Apple sends name and email by form only`() throws {
        var apple = settings(.apple)
        apple.responseMode = .query
        #expect(throws: Failure.self) { try ProviderDefinition(apple) }
        apple.scopes = ["openid"]
        #expect(try ProviderDefinition(apple).responseMode == .query)
    }
}
