// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GateFixtures
import GateHTTP
import GateIssuer
import GateOpenID
import GatePolicy
import GateProviders
import GateSessions
import GateTestSupport
import GateWire
import NIOCore
import Testing

@testable import GateIngress
@testable import GateRuntime

/// Decisions about clients and machines that bring tokens to an MCP server, with every result of every look-up.
@Suite struct TokenDeciderTests {
    /// What a request brings.
    private enum Token: CaseIterable {
        /// Of Ada, whom a rule admits, and of Eve, whom one admits elsewhere.
        case ada, eve
        /// Of Ada, for another app.
        case misdirected
        /// Of Ada, bound to a key: with a proof, with the proof of an earlier request, without one, without the scheme for it, and with a
        /// proof by another key.
        case proved, replayed, unproved, bearerOfBound, stolen
        /// Of an issuer that has to verify it.
        case machine

        var isBound: Bool { [.proved, .replayed, .unproved, .bearerOfBound, .stolen].contains(self) }
    }

    /// What a look-up leads to: of the session of a token, or of the token of a machine at its issuer.
    private enum Knowledge: CaseIterable {
        case known, found, ended, unavailable, unconfirmed
    }

    /// What the request is.
    private enum Message: CaseIterable {
        case stream, harmless, forbidden, unreadable

        var body: String? {
            switch self {
            case .stream: nil
            case .harmless: #"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ls"}}"#
            case .forbidden: #"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rm"}}"#
            case .unreadable: "{"
            }
        }
    }

    private struct Case {
        let token: Token
        let knowledge: Knowledge
        let message: Message

        init(using random: inout SeededNumbers) {
            self.token = Token.allCases.randomElement(using: &random) ?? .ada
            self.knowledge = Knowledge.allCases.randomElement(using: &random) ?? .known
            self.message = Message.allCases.randomElement(using: &random) ?? .stream
        }

        /// What has to be decided, by docs/policy.md and docs/clients.md.
        var expected: String {
            switch self.token {
            case .misdirected, .replayed, .unproved, .bearerOfBound, .stolen: return "refused token.rejected"
            case .ada, .eve, .proved, .machine: break
            }
            switch self.knowledge {
            case .ended, .unconfirmed: return "refused token.rejected"
            // A token that its issuer has verified, and that the cache let go of before it was decided about again.
            case .unavailable where self.token == .machine: return "refused gateway.too_many_waiting"
            case .unavailable: return "refused session.store_unavailable"
            case .known, .found: break
            }
            switch self.message {
            case .unreadable: return "refused policy.fact_unknown"
            case .forbidden: return "refused policy.denied"
            case .stream, .harmless: return self.token == .eve ? "refused policy.refused" : "forwarded to desk"
            }
        }
    }

    /// A gateway whose app `desk` is an MCP server, and a session with a token of each kind.
    private struct World {
        private static let host = "desk.example.com"
        private static let issuer = "https://ci.example"
        private let fixture: ClientFixture
        private let key = ProofKey()
        private var texts: [Token: String] = [:]
        private var usedProof = ""

        init() async throws {
            var provider = ProviderSettings(id: "ci", type: .oidc, clientID: "gate", clientSecret: Secret(text: "s"))
            provider.issuer = Self.issuer
            let issuers = [IssuerSettings(provider, .keys(at: nil))]
            self.fixture = try ClientFixture(
                issuers: issuers,
                app: { app in
                    guard app.route.app == "desk" else { return }
                    app.maxMCPBody = 4096
                    app.route.issuers = ["ci"]
                    func entry(_ change: (inout AccessEntry) -> Void) -> AccessEntry {
                        var entry = AccessEntry()
                        change(&entry)
                        return entry
                    }
                    app.route.access = .entries([
                        entry { $0.emailDomain = "example.org" }, entry { $0.provider = "ci" },
                        entry { ($0.user, $0.request) = ("staff:eve", [.path([PathPattern("/elsewhere/**")])]) },
                    ])
                    app.route.denied = [entry { $0.request = [.mcpTool(["rm"])] }]
                }
            )
            for token in Token.allCases { self.texts[token] = try await self.text(of: token) }
            self.usedProof = try self.proof(by: self.key, beside: try #require(self.texts[.replayed]))
            let head = try self.head(of: .replayed, .stream)
            let step = self.request(head).decide(FakeCallers())
            #expect(self.fixture.gateway.words(step) == "needs session", "the proof counts once")
        }

        private func text(of token: Token) async throws -> String {
            guard token != .machine else {
                return self.fixture.gateway.providers.token(["sub": "job"], of: Self.issuer)
            }
            let audiences = token == .misdirected ? [ClientFixture.shop] : [ClientFixture.desk]
            let user: Profile = token == .eve ? .staff("eve", email: "eve@elsewhere.example") : .staff()
            let now = self.fixture.gateway.clock.now
            let url = "https://\(GatewayFixture.gate)/oauth2/token"
            let proof = token.isBound ? try self.key.line("POST", url, at: now) : ""
            let tokens = try await self.fixture.tokens(for: audiences, user: user, proof: proof)
            return try #require(tokens["access_token"]?.string, "\(token): \(tokens.text)")
        }

        private func proof(by key: ProofKey, beside token: String) throws -> String {
            try key.line("GET", "\(ClientFixture.desk)/", beside: token, at: self.fixture.gateway.clock.now)
        }

        private func head(of token: Token, _ message: Message) throws -> RequestHead {
            let text = try #require(self.texts[token])
            let isProved = token.isBound && token != .bearerOfBound
            var lines = "Authorization: \(isProved ? "DPoP" : "Bearer") \(text)\r\n"
            switch token {
            case .proved, .bearerOfBound:
                lines += try self.key.line(
                    message.body == nil ? "GET" : "POST",
                    "\(ClientFixture.desk)/",
                    beside: text,
                    at: self.fixture.gateway.clock.now
                )
            case .stolen: lines += try self.proof(by: ProofKey(), beside: text)
            case .replayed: lines += self.usedProof
            case .ada, .eve, .misdirected, .unproved, .machine: break
            }
            guard let body = message.body else { return try self.fixture.gateway.head("GET /", Self.host, lines) }
            lines += "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n"
            return try self.fixture.gateway.head("POST /", Self.host, lines)
        }

        private func request(_ head: RequestHead) -> IngressRequest {
            let (runtime, peer) = (self.fixture.gateway.runtime, "192.0.2.1")
            let source = RequestSource(peer: IPAddress(peer), peerText: peer, tls: nil, under: runtime)
            let time = (NIODeadline.uptimeNanoseconds(1), self.fixture.gateway.clock.now)
            return IngressRequest(head, over: source, under: runtime, ids: RequestIDSource(), at: time)
        }

        private func session(of ticket: Ticket, _ token: Token) async throws -> CachedSession {
            let manager = self.fixture.gateway.runtime.sessions
            let found = try await manager.session(
                for: ticket,
                host: ClientGrant.host(of: "notes"),
                now: self.fixture.gateway.clock.now
            )
            return CachedSession(try #require(found), under: .never, freshUntil: .distantFuture)
        }

        /// The decision about a case, its look-ups done as it has them; and how many there were.
        func decision(about one: Case) async throws -> (words: String, lookUps: Int) {
            let (known, gateway) = (FakeCallers(), self.fixture.gateway)
            let head = try self.head(of: one.token, one.message)
            let request = self.request(head)
            if one.knowledge == .known { try await self.learn(of: one.token, request, known) }
            let time = (NIODeadline.uptimeNanoseconds(2), gateway.clock.now)
            var lookUps = 0
            while true {
                let step = request.decide(known)
                #expect(gateway.words(step) == gateway.words(request.decide(known)), "deciding again is the same")
                guard case .need(let lookUp) = step, lookUps < 4 else { return (gateway.words(step), lookUps) }
                lookUps += 1
                switch lookUp {
                case .proof: return ("needs a proof", lookUps)
                case .messages:
                    let body = Array((one.message.body ?? "").utf8)
                    do throws(MCPFailure) {
                        request.note(.read(try MCPBody(body, of: head)))
                    } catch {
                        request.note(.unreadable(error.message))
                    }
                    request.resume(at: time, after: nil)
                case .session, .verification:
                    if one.knowledge == .found { try await self.learn(of: one.token, request, known) }
                    if case .verification(let credential, _) = lookUp, [.ended, .unconfirmed].contains(one.knowledge) {
                        known.machines[credential.hash] = .rejected(Failure(.tokenRejected, "it is not valid"))
                    }
                    request.resume(at: time, after: Self.result(of: one))
                }
            }
        }

        private static func result(of one: Case) -> LookedUp {
            switch one.knowledge {
            case _ where one.token == .machine: .done
            case .known, .found, .ended: .done
            case .unavailable: .unavailable(Failure(.sessionStoreUnavailable, "it does not respond"))
            case .unconfirmed: .needsUser(provider: "staff")
            }
        }

        /// Lets the caches know of the caller what a look-up finds.
        private func learn(of token: Token, _ request: IngressRequest, _ known: FakeCallers) async throws {
            let gateway = self.fixture.gateway
            guard token != .machine else {
                guard case .token(let credential) = MachineCredential.field(of: request.head, takesBasic: false) else {
                    return
                }
                let profile = Profile(provider: "ci", issuer: Self.issuer, subject: "job")
                let session = Session.machine(profile, id: "id", family: "family", now: gateway.clock.now)
                let cached = CachedSession(session, under: .never, freshUntil: .distantFuture)
                known.machines[credential.hash] = .valid(cached, ends: nil)
                return
            }
            let text = ByteBuffer(string: try #require(self.texts[token]))
            let found = try #require(known.accessToken(text, under: gateway.runtime, at: gateway.clock.now))
            known.sessions[found.key] = try await self.session(of: found.token.ticket, token)
        }
    }

    @Test func `whatever is known of a token, its bearer is decided about by the rules`() async throws {
        var random = SeededNumbers(state: 11)
        let world = try await World()
        var decisions: [String: Int] = [:]
        for _ in 0..<4_000 {
            let one = Case(using: &random)
            let (words, lookUps) = try await world.decision(about: one)
            decisions[words, default: 0] += 1
            guard words == one.expected, lookUps <= 2 else {
                Issue.record("\(one): \(words) instead of \(one.expected), \(lookUps) look-ups")
                return
            }
        }
        let kinds = [
            "forwarded to desk", "refused token.rejected", "refused policy.refused", "refused policy.denied",
            "refused policy.fact_unknown", "refused session.store_unavailable", "refused gateway.too_many_waiting",
        ]
        #expect(kinds.filter { decisions[$0, default: 0] < 20 } == [])
    }
}
