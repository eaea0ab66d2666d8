// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProviders
import Testing

@testable import GateOpenID

@Suite struct TokenIssuerTests {
    private static let url = "https://ci.example.com"
    private static let keysURL = "\(url)/keys"
    private static let describing = "\(url)/introspect"
    private static let claims: JSON = [
        "iss": .string(url), "aud": ["https://wiki.example.com", "other"], "sub": "repo:acme/wiki",
        "iat": 1_790_000_000, "exp": 1_790_000_300, "owner": "acme", "realm": ["groups": ["b", "a"]],
    ]

    private let transport = FakeTransport()
    private let clock = TestClock()

    private func issuer(
        _ verification: IssuerSettings.Verification = .keys(at: nil),
        _ change: (inout IssuerSettings) -> Void = { _ in }
    ) throws -> TokenIssuer {
        var provider = ProviderSettings(id: "ci", type: .oidc, clientID: "gate", clientSecret: Secret(text: "s+ /"))
        provider.issuer = Self.url
        provider.clockLeeway = .zero
        provider.profile = ["groups": ["id_token:/realm/groups"]]
        var settings = IssuerSettings(provider, verification)
        settings.audiences = ["https://wiki.example.com"]
        settings.required = [RequiredClaim(pointer: "/owner", values: ["acme"])]
        change(&settings)
        self.transport.stub(
            "\(Self.url)/.well-known/openid-configuration",
            ["issuer": .string(Self.url), "jwks_uri": .string(Self.keysURL)]
        )
        self.transport.stub(
            Self.keysURL,
            ["keys": .array(TestKey.all.map { .object($0.jwk.merging(["kid": .string($0.algorithm)]) { $1 }) })]
        )
        return try TokenIssuer(
            settings,
            transport: self.transport,
            clock: self.clock.clock,
            random: countingRandom()
        )
    }

    private func failure(_ text: String, _ issuer: TokenIssuer) async -> Failure? {
        do throws(Failure) {
            _ = try await issuer.verify(text)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: TestKey.all.indices)
    func `a token signed with a standard algorithm becomes a profile`(index: Int) async throws {
        let issuer = try self.issuer()
        let verified = try await issuer.verify(
            try token(Self.claims, by: TestKey.all[index], kid: TestKey.all[index].algorithm)
        )
        #expect(verified.profile.user == "ci:repo:acme/wiki" && verified.profile.issuer == Self.url)
        #expect(verified.profile.groups == ["a", "b"] && verified.profile.authTime == nil)
        #expect(verified.expires == Instant(seconds: 1_790_000_300))
    }

    @Test func `a token that breaks a rule causes no call`() async throws {
        let issuer = try self.issuer()
        let broken: [[String: JSON?]] = [
            ["aud": "other"], ["iss": "https://evil.example"], ["exp": 1_789_999_000], ["exp": nil], ["owner": "evil"],
            ["nbf": 1_790_009_000], ["iat": 1_790_009_000],
        ]
        for changes in broken {
            let failure = await self.failure(try token(Self.claims.with(changes), by: .es256), issuer)
            #expect(failure?.reason == .tokenRejected, "\(changes)")
        }
        #expect(self.transport.requests.isEmpty)
    }

    @Test func `only the type that the file names is accepted`() async throws {
        let any = try self.issuer()
        let one = try self.issuer { $0.tokenType = "at+jwt" }
        for (type, atAny, atOne) in [("at+jwt", true, true), ("JWT", true, false), ("secevent+jwt", false, false)] {
            let text = try token(Self.claims, by: .es256, kid: "ES256", header: ["typ": .string(type)])
            #expect((await self.failure(text, any) == nil) == atAny, "\(type)")
            #expect((await self.failure(text, one) == nil) == atOne, "\(type)")
        }
        let untyped = try token(Self.claims, by: .es256, kid: "ES256", header: ["typ": nil])
        #expect(await self.failure(untyped, any) == nil)
        #expect(await self.failure(untyped, one)?.reason == .tokenRejected)
    }

    @Test func `an issuer without keys at hand does not make a token invalid`() async throws {
        let issuer = try self.issuer()
        self.transport.fail(Self.keysURL)
        #expect(
            await self.failure(try token(Self.claims, by: .es256, kid: "ES256"), issuer)?.reason == .providerUnavailable
        )
    }

    @Test func `metadata of another issuer name no keys`() async throws {
        let issuer = try self.issuer()
        self.transport.stub(
            "\(Self.url)/.well-known/openid-configuration",
            ["issuer": "https://evil.example", "jwks_uri": .string(Self.keysURL)]
        )
        let failure = await self.failure(try token(Self.claims, by: .es256, kid: "ES256"), issuer)
        #expect(failure?.reason == .openIDDiscoveryIssuerMismatch && self.transport.count(Self.keysURL) == 0)
    }

    @Test func `an issuer describes a token, with the credentials of the gateway`() async throws {
        let issuer = try self.issuer(.introspection(at: try #require(WebURL(Self.describing))))
        self.transport.stub(Self.describing, Self.claims.with(["active": true]))
        #expect(try await issuer.verify("opaque").profile.user == "ci:repo:acme/wiki")
        let request = try #require(self.transport.requests.first)
        #expect(String(decoding: request.body ?? [], as: UTF8.self).hasPrefix("token=opaque&token_type_hint="))
        // RFC 6749 §2.3.1: both are encoded before they are joined.
        #expect(request.headers.contains { $0.value == "Basic Z2F0ZTpzJTJCJTIwJTJG" })
    }

    @Test(
        arguments: [
            ["active": false], ["active": "true"], ["active": nil], ["aud": "other"], ["aud": nil], ["iss": "other"],
            ["exp": 1], ["owner": nil], ["sub": nil],
        ] as [[String: JSON?]]
    )
    func `a description that breaks a rule rejects the token`(changes: [String: JSON?]) async throws {
        let issuer = try self.issuer(.introspection(at: try #require(WebURL(Self.describing))))
        self.transport.stub(Self.describing, Self.claims.with(["active": true]).with(changes))
        #expect(await self.failure("opaque", issuer)?.reason == .tokenRejected)
    }

    @Test func `RFC 7662 §2.2 issuer and expiry may be missing in a description`() async throws {
        let issuer = try self.issuer(.introspection(at: try #require(WebURL(Self.describing))))
        self.transport.stub(Self.describing, Self.claims.with(["active": true, "iss": nil, "exp": nil]))
        #expect(try await issuer.verify("opaque").expires == nil)
    }

    @Test(arguments: [
        (401, Failure.Reason.openIDClientRefused), (500, .providerUnavailable), (404, .providerUnavailable),
    ])
    func `a call that fails does not make a token invalid`(status: Int, reason: Failure.Reason) async throws {
        let issuer = try self.issuer(.introspection(at: try #require(WebURL(Self.describing))))
        self.transport.stub(Self.describing, status, "{}")
        #expect(await self.failure("opaque", issuer)?.reason == reason)
    }

    @Test(
        arguments: [
            ("acme", true), ("acme2", false), (["x", "acme"], true), (["x"], false), (7, false), (.null, false),
            (["acme": "acme"], false),
        ] as [(JSON, Bool)]
    )
    func `a required claim is one of its values or has one`(value: JSON, isMet: Bool) {
        let claim = RequiredClaim(pointer: "/owner", values: ["acme", "umbrella"])
        #expect(claim.isMet(by: ["owner": value]) == isMet)
    }

    @Test func `numbers and flags are compared as they are written`() {
        #expect(RequiredClaim(pointer: "/id", values: ["42"]).isMet(by: ["id": 42]))
        #expect(RequiredClaim(pointer: "/a~1b/c", values: ["true"]).isMet(by: ["a/b": ["c": true]]))
    }

    @Test func `the issuer that a text claims is read from JWTs only`() throws {
        #expect(TokenIssuer.claimedIssuer(of: try token(Self.claims, by: .es256)) == Self.url)
        for text in ["", "a", "a.b.c", "..", "a.eyJ9.c", "a.e30.c", "a.e30.c.d"] {
            #expect(TokenIssuer.claimedIssuer(of: text) == nil, "\(text)")
        }
    }
}
