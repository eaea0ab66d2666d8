// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GateFixtures
import GateHTTP
import GateOperations
import GateSessionStores
import GateSessions
import GateTestSupport
import GateWire
import HTTPTypes
import NIOCore
import Synchronization
import Testing

@testable import GateServer

@Suite struct OperationsAPITests {
    private let lines = LogLines()
    private let store = MemoryStore()
    private let incidents = IncidentHistory(clock: .fixed(Instant(seconds: 1_799_999_999)))
    private let folder: TemporaryFolder

    init() throws {
        self.folder = try TemporaryFolder()
    }

    private func manager(over store: any SessionStore) -> SessionManager {
        SessionManager(
            store: store,
            sealer: Sealer([Secret([UInt8](repeating: 7, count: 32))]),
            lifetimes: SessionLifetimes(idle: .seconds(3600), absolute: .seconds(36_000)),
            feed: RevocationFeed()
        )
    }

    private func api(
        over store: (any SessionStore)? = nil,
        sessionsUsed: @escaping @Sendable () -> Void = {}
    ) throws -> OperationsAPI {
        let text = """
            gateway: {public_url: "http://localhost:8080", state: "\(self.folder.path)/state"}
            sessions: {store: "memory:"}
            providers: {staff: {type: oidc, issuer: "http://127.0.0.1:9100", client_id: a, client_secret: b}}
            apps:
              wild: {host: "*.apps.localhost", upstream: "http://127.0.0.1:9000", allow: signed_in}
              own: {host: own.apps.localhost, path: /own, upstream: "http://127.0.0.1:9000", allow: signed_in}
            """
        let path = "\(self.folder.path)/providers.yaml"
        try PrivateFile.write(Array(text.utf8), to: path)
        let result = Configuration.load(path: path, environment: [:])
        let configuration = try #require(result.configuration, "\(result.diagnostics.map(\.rendered))")
        let manager = self.manager(over: store ?? self.store)
        return OperationsAPI(
            environment: OperationsAPI.Environment(
                sessions: {
                    sessionsUsed()
                    return manager
                },
                configuration: { configuration },
                incidents: self.incidents,
                times: { (Instant(seconds: 1_799_000_000), Instant(seconds: 1_799_500_000)) },
                keysChanged: { _ in },
                policy: { ["content": "abc"] },
                confirmReload: { content throws(OperationsRejection) in
                    guard content == "abc" else { throw OperationsRejection(409, "other content") }
                },
                logger: self.lines.logger,
                clock: .fixed(Instant(seconds: 1_800_000_000)),
                owner: 1234
            )
        )
    }

    private func head(_ start: String, _ more: String = "") throws -> RequestHead {
        var parser = RequestParser(names: FieldNames(), isSecure: false)
        var buffer = ByteBuffer(string: "\(start) HTTP/1.1\r\nHost: localhost\r\n\(more)\r\n")
        return try #require(try parser.head(from: &buffer))
    }

    private func revoke(_ body: String, at api: OperationsAPI) async throws -> Int {
        let type = "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n"
        let head = try self.head("POST /v1/sessions/revoke", type)
        return await api.response(to: head, body: Array(body.utf8), from: .user(0)).head.status.code
    }

    @Test func `a revocation is logged before anything is changed, and its result afterwards`() async throws {
        let before = Mutex<[String]>([])
        let lines = self.lines
        let api = try self.api { before.withLock { $0 = lines.all.map(\.message) } }
        #expect(try await self.revoke(#"{"user": "staff:ada"}"#, at: api) == 200)
        #expect(before.withLock { $0 } == ["revoking sessions"])
        let all = self.lines.all
        try #require(all.map(\.message) == ["revoking sessions", "sessions revoked"])
        #expect(all[0].values["filter"] == "user=staff:ada" && all[0].values["not_before"] == "1800000001")
        #expect(all.allSatisfy { $0.values["by"] == "uid 0" } && all[1].values["sign_ins"] == "0")
        #expect(
            all[0].values["operation"] == all[1].values["operation"] && all[0].values["operation"]?.isEmpty == false
        )
    }

    @Test(arguments: [#"{"user": "staff:ada"}"#, #"{"all": true}"#, #"{"id": "x"}"#])
    func `a revocation that fails is logged with what was done`(body: String) async throws {
        let api = try self.api()
        await self.store.close()
        #expect(try await self.revoke(body, at: api) == 503)
        #expect(self.lines.all.map(\.message) == ["revoking sessions", "sessions not all revoked"])
        let last = try #require(self.lines.all.last)
        #expect(last.values["sign_ins"] == "0" && last.values["code"] == "session.store_unavailable")
    }

    @Test(arguments: [#"{"user": "staff:ada"}"#, #"{"all": true}"#])
    func `B-03: a store that rejects the time of a revocation ends the sign-ins all the same`(body: String) async throws
    {
        let store = SwitchedStore()
        let (manager, now) = (self.manager(over: store), Instant(seconds: 1_799_999_000))
        let profile = Profile(provider: "staff", issuer: "https://id.example.com", subject: "ada")
        let issued = try await manager.issue(SignIn(profile: profile), host: "localhost", now: now)
        store.fail("replaceEntry")
        #expect(try await self.revoke(body, at: try self.api(over: store)) == 503)
        #expect(self.lines.all.last?.values["sign_ins"] == "1")
        #expect(try await manager.session(for: issued.ticket, host: "localhost", now: now) == nil)
    }

    @Test func `a revocation that only counts changes nothing, and logs nothing`() async throws {
        #expect(try await self.revoke(#"{"all": true, "dry_run": true}"#, at: try self.api()) == 200)
        #expect(self.lines.all.isEmpty)
    }

    @Test func `a confirmation is logged with who gave it, and no other content is confirmed`() async throws {
        let api = try self.api()
        for (content, status) in [("abc", 200), ("abd", 409), ("", 400)] {
            let body = #"{"content": "\#(content)"}"#
            let type = "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n"
            let head = try self.head("POST /v1/policy/confirm", type)
            let response = await api.response(to: head, body: Array(body.utf8), from: .user(7))
            #expect(response.head.status.code == status)
        }
        #expect(self.lines.all.map(\.message) == ["reload confirmed"])
        #expect(self.lines.all.first?.values["by"] == "uid 7" && self.lines.all.first?.values["content"] == "abc")
    }

    @Test(arguments: [0, 1234] as [UInt32])
    func `root and the user of the gateway may use the socket`(user: UInt32) async throws {
        let api = try self.api()
        let response = await api.response(to: try self.head("GET /v1/users"), body: [], fromPeer: user)
        #expect(response.head.status.code == 200 && self.lines.all.isEmpty)
    }

    @Test(arguments: [nil, 1, 65534] as [UInt32?])
    func `any other user may not, and is logged`(user: UInt32?) async throws {
        let api = try self.api()
        let response = await api.response(to: try self.head("GET /v1/users"), body: [], fromPeer: user)
        #expect(response.head.status.code == 403)
        try #require(self.lines.all.map(\.message) == ["operations request rejected"])
        #expect(self.lines.all[0].values["from"] == "uid \(user.map(String.init) ?? "unknown")")
        #expect(self.lines.all[0].values["reason"] == "user")
    }

    @Test func `a wrong token is logged with the client, never with the token, and not without limit`() async throws {
        let api = try self.api()
        for _ in 0..<1000 {
            let head = try self.head("GET /v1/users", "Authorization: Bearer guess-of-a-token\r\n")
            let response = await api.response(to: head, body: [], needing: Secret(text: "token"), from: "192.0.2.1")
            #expect(response.head.status.code == 401)
        }
        let all = self.lines.all
        #expect(all.count < 1000 && all.count >= LogLimiter.burst)
        #expect(all.allSatisfy { $0.values["from"] == "192.0.2.1" && $0.values["reason"] == "token" })
        #expect(!all.contains { "\($0.values)".contains("guess") })
    }

    @Test(arguments: [
        ("wild", "one.apps.localhost", 1), ("wild", "own.apps.localhost", 0), ("own", "own.apps.localhost", 1),
    ])
    func `an app has the sessions of the hosts that lead to it`(app: String, host: String, count: Int64) async throws {
        let api = try self.api()
        let profile = Profile(provider: "staff", issuer: "http://127.0.0.1:9100", subject: "ada")
        let now = Instant(seconds: 1_800_000_000)
        _ = try await api.environment.sessions().issue(SignIn(profile: profile), host: host, now: now)
        let response = await api.response(to: try self.head("GET /v1/sessions?app=\(app)"), body: [], from: .token)
        let found = try JSON(parsing: response.body)
        #expect(found["sessions"]?.array?.count == Int(count))
    }

    @Test func `an incident is returned by its word, with how far back the history goes`() async throws {
        self.incidents.add(.policyRefused, detail: "why", id: "kD3pZ0qLxV7w", of: IncidentRequest())
        let api = try self.api()
        let response = await api.response(
            to: try self.head("GET /v1/incidents?id=kD3pZ0qLxV7w"),
            body: [],
            from: .user(0)
        )
        let json = try JSON(parsing: response.body)
        #expect(response.head.status.code == 200 && json["incidents"]?.array?.count == 1)
        #expect(json["incidents"]?.array?.first?["detail"] == "why" && json["kept"] == 1)
        #expect(json["complete_since"] == json["started_at"])
    }

    @Test(arguments: [("GET", "", 400), ("GET", "?id=x&all=1", 400), ("POST", "", 405)])
    func `an incident is asked for by its id only`(method: String, query: String, status: Int) async throws {
        let more = method == "POST" ? "Content-Type: application/json\r\nContent-Length: 2\r\n" : ""
        let head = try self.head("\(method) /v1/incidents\(query)", more)
        let response = await (try self.api()).response(to: head, body: Array("{}".utf8), from: .user(0))
        #expect(response.head.status.code == status)
    }
}
