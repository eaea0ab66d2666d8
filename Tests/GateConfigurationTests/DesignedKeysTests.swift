// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GateProxy
import GateRedis
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
          cookie: session
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

    @Test(arguments: [
        "cookie", "cookie:x", "postgres://h", "sqlite:", "sqlite::memory:", "memory", "redis:h",
        "redis://", "redis://h:0", "redis://h:x", "redis://h/x", "redis://h/-1", "redis://user@h", "redis://user:@h",
        "redis://a@b:c@h", "redis://user:%zz@h", "redis://h?x=1", "redis://a,b",
        "rediss://", "redis+sentinel://h", "redis+sentinel://h/", "redis+sentinel://h/a%20b", "redis+sentinel://h/m/x",
        "redis+sentinel://h/m/0/1", "redis+sentinel://h,h/m", "redis+sentinel://h,/m", "redis+cluster://h/1",
        "redis+cluster://", "redis+cluster://h,", "redis+cluster://h//", "redis+tls://h", "redisx://h",
    ])
    func `an unsupported or unknown session store is rejected`(store: String) {
        let result = Fixture.parse(Fixture.smallest(rest: "sessions: { store: \"\(store)\" }"))
        #expect(result.configuration == nil)
        #expect(result.diagnostics.count { $0.severity == .error } == 1)
    }

    @Test func `the URL of Redis has a user, a password, a port and a database, each of which may be missing`() {
        let store = { (text: String) in
            Fixture.parse(Fixture.smallest(rest: "sessions: { store: \"\(text)\" }")).configuration?.sessions.store
        }
        var settings = RedisSettings(target: UpstreamTarget(.tcp(host: "redis.example.com", port: 6379)))
        #expect(store("redis://redis.example.com") == .redis(settings))
        #expect(store("redis://redis.example.com:6379/0") == .redis(settings))
        settings.database = 15
        settings.credentials = .init(user: nil, password: Secret(text: "p@ss:w"))
        #expect(store("redis://:p%40ss:w@redis.example.com/15") == .redis(settings))
        settings.credentials?.user = "gate"
        settings.servers = .one(UpstreamTarget(.tcp(host: "[::1]", port: 7000)))
        #expect(store("redis://gate:p%40ss:w@[::1]:7000/15") == .redis(settings))
        settings.servers = .one(UpstreamTarget(.tcp(host: "[::1]", port: 7000), isSecure: true))
        #expect(store("rediss://gate:p%40ss:w@[::1]:7000/15") == .redis(settings))
    }

    @Test func `the URLs of Sentinel and of a cluster have several servers`() {
        let store = { (text: String) in
            Fixture.parse(Fixture.smallest(rest: "sessions: { store: \"\(text)\" }")).configuration?.sessions.store
        }
        func target(_ host: String, _ port: Int, _ isSecure: Bool = false) -> UpstreamTarget {
            UpstreamTarget(.tcp(host: host, port: port), isSecure: isSecure)
        }
        var settings = RedisSettings(.sentinels([target("s1", 26_379), target("s2", 7000)], master: "my-master.1"))
        #expect(store("redis+sentinel://s1,s2:7000/my-master.1") == .redis(settings))
        settings.database = 3
        settings.credentials = .init(user: "gate", password: Secret(text: "p"))
        #expect(store("redis+sentinel://gate:p@s1,s2:7000/my-master.1/3") == .redis(settings))
        settings = RedisSettings(.cluster([target("r1", 6379), target("10.0.0.2", 7002)]))
        for end in ["", "/", "/0"] { #expect(store("redis+cluster://r1,10.0.0.2:7002\(end)") == .redis(settings)) }
        settings.servers = .cluster([target("r1", 6379, true), target("[::1]", 6379, true)])
        #expect(store("rediss+cluster://r1,[::1]") == .redis(settings))
        let many = (1...33).map { "r\($0)" }
        #expect(store("redis+cluster://\(many.joined(separator: ","))") == nil)
        #expect(store("redis+cluster://\(many.dropLast().joined(separator: ","))") != nil)
    }

    @Test func `certificates and the password of the sentinels are beside the URL`() {
        let text = """
            sessions:
              store: rediss+sentinel://s1/main
              redis:
                tls:
                  ca_file: tls/good.pem
                  certificate: tls/good.pem
                  private_key: tls/good.key
                  server_name: r.example
                sentinel_user: watcher
                sentinel_password: ${env:CLIENT_SECRET}
            """
        let result = Fixture.parse(Fixture.smallest(rest: text))
        guard case .redis(let settings)? = result.configuration?.sessions.store else {
            Issue.record("\(result.diagnostics.map(\.rendered))")
            return
        }
        let (certificate, key) = ("/etc/gatehouse/tls/good.pem", "/etc/gatehouse/tls/good.key")
        #expect(settings.tls?.caFile == certificate && settings.tls?.serverName == "r.example")
        #expect(settings.tls?.certificate == CertificateFiles(certificate: certificate, privateKey: key))
        #expect(settings.sentinelCredentials == .init(user: "watcher", password: Secret(text: "sample-secret")))
    }

    @Test(arguments: [
        ("memory:", "sentinel_password: ${env:CLIENT_SECRET}"), ("redis://h", "tls: { server_name: h }"),
        ("redis+cluster://h", "sentinel_password: ${env:CLIENT_SECRET}"), ("rediss://h", "tls: { certificate: x }"),
        ("redis+sentinel://h/m", "sentinel_user: u"), ("redis://h", "password: x"),
    ])
    func `settings of Redis without effect are rejected`(store: String, keys: String) {
        let rest = "sessions: { store: \"\(store)\", redis: { \(keys) } }"
        let result = Fixture.parse(Fixture.smallest(rest: rest))
        #expect(result.configuration == nil)
        #expect(result.diagnostics.contains { $0.severity == .error })
    }

    @Test func `a password in the URL of Redis is a warning, and is masked in what is shown`() throws {
        let text = Fixture.smallest(rest: "sessions: { store: \"redis://gate:hunter22@h/x\" }")
        let result = Fixture.parse(text)
        #expect(result.diagnostics.count == 2)
        #expect(!result.diagnostics.contains { $0.rendered.contains("hunter22") })
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
