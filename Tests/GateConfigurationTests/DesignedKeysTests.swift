// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import Testing

/// Every key that the design names is known and does something.
@Suite struct DesignedKeysTests {
    private static let text = """
        gateway:
          public_url: https://gate.example.com
          listeners:
            - address: 0.0.0.0:443
              tls:
                - { certificate: tls/good.pem, private_key: tls/good.key }
          operations: 127.0.0.1:9901
          state: /var/lib/gatehouse
          trusted_proxies: []
          secret: ${file:/run/secrets/good}
        sessions:
          store: sqlite:/var/lib/gatehouse/sessions.db
          idle_timeout: 12h
          lifetime: 7d
        assertion:
          lifetime: 2m
          keys: /var/lib/gatehouse/keys
        providers:
          google:
            type: google
            client_id: 1234.apps.googleusercontent.com
            client_secret: ${env:CLIENT_SECRET}
            hosted_domains: [example.com]
          github:
            type: github
            client_id: Iv1.0123
            client_secret: ${env:CLIENT_SECRET}
            groups: [organizations, teams]
          microsoft:
            type: microsoft
            tenant: 8eae0000-2b34-4da1-9baa-8bc8c9d6a490
            client_id: 6cb04018-a3f5-46a7-b995-940c78f5aef3
            client_secret: ${env:CLIENT_SECRET}
          staff:
            type: oidc
            name: Staff directory
            issuer: https://id.example.com/realms/staff
            client_id: gatehouse
            client_secret: ${env:CLIENT_SECRET}
            scopes: [openid, email, profile]
            tls:
              ca_file: tls/good.pem
              pins:
                match: public_key
                mode: enforce
                sha256:
                  - 47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=
                  - ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=
                expires: 2027-06-01
            proxy: http://proxy.example.com:3128
            profile:
              name: [ "id_token:/display_name", "userinfo:/name" ]
              groups: [ "id_token:/realm_access/roles" ]
        apps:
          wiki:
            host: wiki.example.com
            path: /
            upstream: http://10.0.0.5:8080
            providers: [google, microsoft]
            allow:
              - { provider: google, email_domain: example.com }
              - { group: acme/platform }
            public: [ "GET /healthz", "/assets/" ]
            headers:
              X-WEBAUTH-USER: email
        """

    @Test func `a file with all of them has nothing wrong`() throws {
        let configuration = try Fixture.configuration(Self.text)
        #expect(configuration.providers.count == 4)
        #expect(configuration.gateway.listeners.first?.certificates.count == 1)
    }

    @Test(arguments: ["redis://h", "rediss://h", "cookie:", "postgres://h", "sqlite:", "sqlite::memory:", "memory"])
    func `an unsupported or unknown session store is rejected`(store: String) {
        let result = Fixture.parse(Fixture.smallest(rest: "sessions: { store: \"\(store)\" }"))
        #expect(result.configuration == nil)
        #expect(result.diagnostics.count == 1)
    }

    @Test func `when the providers cannot be read, no app is blamed for naming one`() {
        let text = """
            gateway: { public_url: "https://gate.example.com" }
            providers: []
            apps: { wiki: { upstream: "http://h", providers: [x], allow: [{ provider: y }] } }
            """
        #expect(Fixture.messages(text) == ["expected a mapping of names to providers, found a list"])
    }
}
