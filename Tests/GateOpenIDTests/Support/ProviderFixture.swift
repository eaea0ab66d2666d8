// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateOpenID
import GateProviders
import Synchronization

/// What was reported, in order.
final class Reports: Sendable {
    private let failures = Mutex<[Failure]>([])

    /// The failures so far.
    var all: [Failure] { self.failures.withLock { $0 } }

    func add(_ failure: Failure) { self.failures.withLock { $0.append(failure) } }
}

/// A provider that the test plays, and the gateway's side of it.
struct ProviderFixture {
    static let issuer = "https://id.example.com"
    static let callback = "https://gate.example.com/oauth2/callback/staff"

    let transport = FakeTransport()
    let clock = TestClock()
    let failures = Counter()
    let reports = Reports()
    let party: RelyingParty
    var claims: JSON

    static func settings(_ type: ProviderType = .oidc, id: String = "staff") -> ProviderSettings {
        var settings = ProviderSettings(
            id: id,
            type: type,
            clientID: "gate:house",
            clientSecret: Secret(text: "s+c r/t")
        )
        if type == .oidc { settings.issuer = self.issuer }
        return settings
    }

    init(_ settings: ProviderSettings = ProviderFixture.settings(), metadata: JSON = ProviderFixture.metadata) throws {
        let definition = try ProviderDefinition(settings)
        let (failures, reports) = (self.failures, self.reports)
        self.party = try RelyingParty(
            definition: definition,
            settings: settings,
            redirectURI: ProviderFixture.callback,
            transport: self.transport,
            clock: self.clock.clock,
            random: countingRandom()
        ) { failure in
            _ = failures.next()
            reports.add(failure)
        }
        self.claims = [
            "iss": .string(ProviderFixture.issuer), "aud": "gate:house", "sub": "ada", "iat": 1_790_000_000,
            "exp": 1_790_003_600, "email": "ada@example.org", "email_verified": true,
        ]
        if case .openID(let discovery) = definition.signIn {
            self.transport.stub(discovery.description, metadata)
        }
        self.transport.stub("\(ProviderFixture.issuer)/keys", ["keys": [TestKey.rs256.named("k1")]])
        self.transport.stub("\(ProviderFixture.issuer)/userinfo", ["sub": "ada", "name": "Ada"])
    }

    static let metadata: JSON = [
        "issuer": .string(issuer),
        "authorization_endpoint": .string("\(issuer)/authorize"),
        "token_endpoint": .string("\(issuer)/token"),
        "jwks_uri": .string("\(issuer)/keys"),
        "userinfo_endpoint": .string("\(issuer)/userinfo"),
        "end_session_endpoint": .string("\(issuer)/logout"),
    ]

    /// Begins an attempt.
    func begin(_ path: String = "/wiki") async throws -> (location: String, attempt: Attempt) {
        try await self.party.authorization(returnPath: ReturnPath(path) ?? .root, replacedTicket: nil)
    }

    /// The form of a callback that is in order, with changes.
    func callback(_ attempt: Attempt, _ changes: [String: String?] = [:]) -> Form {
        var fields: [String: String] = ["state": attempt.state, "code": "c/1"]
        for (name, value) in changes { fields[name] = value }
        return Form(fields.sorted { $0.key < $1.key }.map { Form.Field($0.key, $0.value) })
    }

    /// Lets the token endpoint respond with an ID token for the attempt.
    func issue(
        for attempt: Attempt,
        _ changes: [String: JSON?] = [:],
        by key: TestKey = .rs256,
        kid: String? = "k1"
    ) throws {
        let claims = self.claims.with(["nonce": .string(attempt.nonce)]).with(changes)
        let text = try token(claims, by: key, kid: kid)
        self.transport.stub(
            "\(ProviderFixture.issuer)/token",
            ["access_token": "at-1", "token_type": "Bearer", "id_token": .string(text)]
        )
    }

    /// The user of a callback.
    func signIn(_ callback: Form, _ attempt: Attempt, looksUpGroups: Bool = true) async throws(Failure) -> FoundUser {
        try await self.party.user(of: callback, attempt, looksUpGroups: looksUpGroups)
    }

    /// The code of the failure that ends a callback; nil for a sign-in.
    func rejection(_ callback: Form, _ attempt: Attempt) async -> String? {
        await self.failure(callback, attempt)?.code
    }

    /// The failure that ends a callback; nil for a sign-in.
    func failure(_ callback: Form, _ attempt: Attempt) async -> Failure? {
        do throws(Failure) {
            _ = try await self.signIn(callback, attempt)
            return nil
        } catch {
            return error
        }
    }
}
