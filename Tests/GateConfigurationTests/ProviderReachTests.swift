// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GateProviders
import Testing

/// What has to fit together for a provider to be reached: its addresses, pins and proxy.
@Suite struct ProviderReachabilityTests {
    private func file(_ provider: String) -> String {
        """
        gateway: { public_url: "https://gate.example.com" }
        providers:
          it: { client_id: a, client_secret: "${env:CLIENT_SECRET}", \(provider) }
        apps: { wiki: { upstream: "http://h", allow: signed_in } }
        """
    }

    @Test(
        arguments: [
            ("type: oidc, issuer: \"http://localhost:8080\"", "issuer"),
            ("type: oidc, issuer: \"https://i.example.com\", metadata_url: \"http://127.0.0.1:1/m\"", "metadata_url"),
            (
                "type: keycloak, issuer: \"https://i.example.com\", token_endpoint: \"http://[::1]:1/t\"",
                "token_endpoint"
            ),
            ("type: oidc, issuer: \"https://i.example.com\", jwks_uri: \"http://localhost:1/k\"", "jwks_uri"),
            ("type: google, hosted_domains: [example.com], base_url: \"http://127.0.0.1:1\"", "base_url"),
            ("type: google, hosted_domains: [example.com], api_url: \"http://[::1]:1\"", "api_url"),
            (
                "type: oauth2, issuer: \"https://i.example.com\", authorization_endpoint: \"https://a.example.com/a\", "
                    + "token_endpoint: \"http://localhost:1/t\", api_url: \"https://i.example.com\", "
                    + "profile: { subject: \"api:/user#/id\" }",
                "token_endpoint"
            ),
        ]
    )
    func `pins need https wherever the gateway goes`(provider: String, key: String) {
        let message = "pins need https, but '\(key)' is plain http; write https or remove 'pins'"
        let pinned = Fixture.parse(self.file("tls: { pins: google-roots }, \(provider)"))
        #expect(pinned.diagnostics.filter { $0.severity == .error }.map(\.message) == [message])
        let plain = Fixture.parse(self.file(provider))
        #expect(plain.diagnostics.filter { $0.severity == .error }.map(\.message) == [])
    }

    @Test func `where browsers go may be plain http, since the gateway does not go there`() {
        let provider =
            "type: oidc, issuer: \"https://id.example.com\", authorization_endpoint: \"http://localhost:1/a\", "
            + "tls: { pins: google-roots }"
        #expect(Fixture.messages(self.file(provider)) == [])
    }

    @Test(
        arguments: [
            ("http://proxy.example.com:3128", "proxy.example.com", 3128), ("http://10.0.0.9:8080/", "10.0.0.9", 8080),
            ("HTTP://Proxy", "proxy", 80), ("http://[2001:db8::9]:3128", "[2001:db8::9]", 3128),
        ]
    )
    func `a proxy is a host and a port`(text: String, host: String, port: Int) throws {
        let configuration = try Fixture.configuration(Fixture.smallest(provider: "    proxy: \"\(text)\""))
        let proxy = try #require(configuration.providers.first?.proxy)
        #expect(proxy.origin == Origin(scheme: "http", host: host, port: port))
        #expect(proxy.target == "/")
    }

    @Test func `without the key there is no proxy, whatever the environment contains`() throws {
        var environment = Fixture.environment
        for name in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "http_proxy"] {
            environment[name] = "http://proxy.example.com:3128"
        }
        let configuration = try Fixture.configuration(Fixture.smallest(), environment: environment)
        #expect(configuration.providers.first?.proxy == nil)
    }

    @Test(
        arguments: [
            (
                "https://proxy:3128",
                "'https://proxy:3128' is not an http:// proxy, and others are not supported; traffic through the proxy is "
                    + "https anyway"
            ),
            (
                "socks5://proxy:1080",
                "'socks5://proxy:1080' is not an http:// proxy, and others are not supported; traffic through the proxy is "
                    + "https anyway"
            ),
            ("proxy:3128", "'proxy:3128' is not a URL; did you mean 'http://proxy:3128'?"),
            ("no proxy", "'no proxy' is not a URL; write such as http://proxy:3128"),
            (
                "http://proxy:3128/path",
                "'http://proxy:3128/path' has a path; a proxy is a host and a port, write 'http://proxy:3128'"
            ),
            (
                "http://proxy:3128/?q",
                "'http://proxy:3128/?q' has a path; a proxy is a host and a port, write 'http://proxy:3128'"
            ),
            ("http://proxy:99999", "'http://proxy:99999' is not a URL such as http://proxy.example.com:3128"),
        ]
    )
    func `a URL other than that of a plain HTTP proxy is rejected`(text: String, message: String) {
        #expect(Fixture.messages(Fixture.smallest(provider: "    proxy: \"\(text)\"")) == [message])
    }

    @Test func `a proxy with a user name is rejected, and its password not shown`() {
        let text = Fixture.smallest(provider: "    proxy: http://ann:open-sesame@proxy:3128")
        let result = Fixture.parse(text)
        let message = "the proxy has a user name, which is not supported; write 'http://' and its host and port"
        #expect(result.diagnostics.map(\.message) == [message])
        #expect(!result.diagnostics.map(\.rendered).joined().contains("sesame"))
    }
}
