// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateEndpoints
import GateFixtures
import GateHTTP
import GateHeaders
import GateOpenID
import GateSessions
import GateTestSupport
import GateWire
import NIOCore
import Testing

@testable import GateIngress
@testable import GateRuntime

/// Decisions from the request and from what is known of it, without an event loop and without waiting.
@Suite struct DeciderTests {
    /// Whom a request is from.
    private enum Sender: CaseIterable {
        case stranger
        /// Of `example.org`, in `ops` and `wiki`.
        case ada
        /// The same, but the user `root`.
        case root
        /// Of another domain, in the same groups.
        case eve
        case guest
        /// Of a provider that no app accepts.
        case alien
        /// With the service token.
        case machine
        /// The same, beside the session of Eve.
        case machineBesideEve
        /// With a service token that does not exist, beside the session of Ada.
        case forger

        var hasCookie: Bool { ![.stranger, .machine].contains(self) }
        var provider: String { self == .guest ? "guests" : self == .alien ? "elsewhere" : "staff" }
        var isOfExample: Bool { [.ada, .root].contains(self) }
        var groups: Set<String> { [.guest, .alien].contains(self) ? [] : ["ops", "wiki"] }

        /// The user of the session.
        var profile: Profile {
            switch self {
            case .root: .staff("root")
            case .eve, .machineBesideEve: .staff("eve", email: "eve@elsewhere.example")
            case .guest: .guest
            case .alien: Profile(provider: "elsewhere", issuer: "https://elsewhere.example", subject: "a")
            case .ada, .stranger, .machine, .forger: .staff()
            }
        }
    }

    /// What is known of the session at first, and what the store reports later.
    private enum Knowledge: CaseIterable {
        case cached, found, ended, unavailable, unconfirmed
    }

    /// Where a request comes from, by what a browser sends with it.
    private enum Page: CaseIterable {
        case own, none, portal, hostile

        var lines: String {
            switch self {
            case .own: "Sec-Fetch-Site: same-origin\r\nOrigin: https://\(RuledApps.host)\r\n"
            case .none: ""
            case .portal: "Sec-Fetch-Site: cross-site\r\nOrigin: \(RuledApps.portal)\r\n"
            case .hostile: "Sec-Fetch-Site: cross-site\r\nOrigin: https://hostile.example\r\n"
            }
        }
    }

    /// One request and what is known.
    private struct Case {
        let sender: Sender
        let knowledge: Knowledge
        let page: Page
        let method: String
        let path: String
        let client: String
        /// Minutes between the request and its look-up: another hour may have begun.
        let minutes: Int
        /// Minutes since the user has authenticated, when the request came.
        let age: Int

        static let paths = [
            "/", "/open/x", "/far/x", "/day/x", "/night/x", "/admin/x", "/assets/x", "/recent", "/recent/x", "/api",
            "/api/hooks/x", "/api/admin/x",
        ]
        static let methods = ["GET", "HEAD", "POST", "PUT", "DELETE"]
        static let ages = [0, 14, 16]

        init(using random: inout SeededNumbers) {
            self.sender = Sender.allCases.randomElement(using: &random) ?? .ada
            self.knowledge = Knowledge.allCases.randomElement(using: &random) ?? .cached
            self.page = Page.allCases.randomElement(using: &random) ?? .none
            self.method = Self.methods.randomElement(using: &random) ?? "GET"
            self.path = Self.paths.randomElement(using: &random) ?? "/"
            self.client = RuledApps.clients.randomElement(using: &random) ?? ""
            self.minutes = [0, 10, 61].randomElement(using: &random) ?? 0
            self.age = Self.ages.randomElement(using: &random) ?? 0
        }

        /// Minutes since midnight at which the decision counts that is made about a session.
        var time: Int { 480 + (self.knowledge == .cached ? 0 : self.minutes) }

        private var app: String {
            self.path.hasPrefix("/recent") ? "recent" : self.path.hasPrefix("/api") ? "api" : "ruled"
        }

        private var isWrite: Bool { !["GET", "HEAD"].contains(self.method) }

        /// Whether another site may not have a browser send it.
        private var isForged: Bool {
            guard self.isWrite else { return false }
            switch self.page {
            case .own, .none: return false
            case .portal: return !(self.app == "api" && self.path.hasPrefix("/api/hooks/"))
            case .hostile: return true
            }
        }

        /// What has to be decided, by the rules as docs/policy.md describes them, in the words of the fixture.
        var expected: String {
            if self.app == "ruled", self.method == "GET", self.path.hasPrefix("/assets/") {
                return "forwarded to ruled unknown"
            }
            if self.app == "api" {
                switch self.sender {
                case .forger: return "refused token.rejected"
                case .machine, .machineBesideEve:
                    return self.path.hasPrefix("/api/admin/") ? "refused policy.denied" : "forwarded to api"
                default: break
                }
            }
            guard self.sender.hasCookie else { return "sign in for \(self.app)" }
            switch self.knowledge {
            case .ended: return "sign in for \(self.app)"
            case .unavailable: return "refused session.store_unavailable"
            case .unconfirmed:
                let isAccepted = self.sender != .alien
                return isAccepted ? "re-check for \(self.app) with \(self.sender.provider)" : "sign in for \(self.app)"
            case .cached, .found: break
            }
            guard self.sender != .alien else { return "sign in for \(self.app)" }
            switch self.app {
            case "recent":
                guard self.sender.provider == "staff" else { return "refused policy.refused" }
                let age = self.age + self.time - 480
                guard age <= 15 else { return "sign in for recent" }
            case "api":
                guard !self.path.hasPrefix("/api/admin/") else { return "refused policy.denied" }
                guard self.sender.isOfExample else { return "refused policy.refused" }
            default:
                guard !self.isDeniedByRules else { return "refused policy.denied" }
                guard self.isAdmittedByRules else { return "refused policy.refused" }
            }
            return self.isForged ? "refused request.cross_site" : "forwarded to \(self.app)"
        }

        /// The user of the session.
        private var user: Sender { self.sender == .forger ? .ada : self.sender }

        /// The entries of `deny` of `ruled`.
        private var isDeniedByRules: Bool {
            if self.path.hasPrefix("/admin/"), self.user != .root { return true }
            return self.method == "DELETE" && (self.user.groups.contains("ops") || self.user.provider == "guests")
        }

        /// The entries of `allow` of `ruled`.
        private var isAdmittedByRules: Bool {
            let user = self.user
            if user.isOfExample, ["GET", "HEAD", "POST"].contains(self.method) { return true }
            if user.provider == "guests" { return self.path.hasPrefix("/open/") && self.client == RuledApps.clients[0] }
            guard user.groups.contains("wiki") else { return false }
            return self.path.hasPrefix("/day/") && (420..<540).contains(self.time)
        }
    }

    /// A gateway with ruled apps, and a session of each sender with each age.
    private struct World {
        let gateway: GatewayFixture
        private(set) var heads: [String: RequestHead] = [:]
        private let sessions: [String: IssuedSession]

        init() async throws {
            self.gateway = try GatewayFixture(serviceTokens: [RuledApps.serviceToken], more: RuledApps.all())
            var sessions: [String: IssuedSession] = [:]
            for sender in Sender.allCases {
                for age in Case.ages {
                    var profile = sender.profile
                    profile.authTime = self.gateway.clock.now.advanced(by: .seconds(-60 * age))
                    sessions["\(sender) \(age)"] = try await self.gateway.session(of: profile, on: RuledApps.host)
                }
            }
            self.sessions = sessions
        }

        func session(of one: Case) throws -> IssuedSession {
            try #require(self.sessions["\(one.sender) \(one.age)"])
        }

        /// The head of a case, which many share.
        mutating func head(of one: Case) throws -> RequestHead {
            let key = "\(one.sender) \(one.age) \(one.page) \(one.method) \(one.path)"
            if let known = self.heads[key] { return known }
            var lines = one.page.lines
            if one.sender.hasCookie { lines += cookie(try self.session(of: one).ticket) }
            switch one.sender {
            case .machine, .machineBesideEve: lines += "Authorization: Bearer \(RuledApps.token)\r\n"
            case .forger: lines += "Authorization: Bearer gth_forged\r\n"
            default: break
            }
            let head = try self.gateway.head("\(one.method) \(one.path)", RuledApps.host, lines)
            self.heads[key] = head
            return head
        }

        /// The decision about a case, its look-ups done as it has them; and how many there were.
        mutating func decision(about one: Case) throws -> (words: String, lookUps: Int) {
            let runtime = self.gateway.runtime
            let known = FakeCallers()
            let issued = try self.session(of: one)
            let key = try #require(CookieKey(issued.ticket))
            let cached = CachedSession(issued.session, under: .never, freshUntil: .distantFuture)
            if one.knowledge == .cached { known.sessions[key] = cached }
            let source = RequestSource(peer: IPAddress(one.client), peerText: one.client, tls: nil, under: runtime)
            let start = (NIODeadline.uptimeNanoseconds(1), self.gateway.clock.now)
            let request = IngressRequest(
                try self.head(of: one),
                over: source,
                under: runtime,
                ids: RequestIDSource(),
                at: start
            )
            var lookUps = 0
            while true {
                let step = request.decide(known)
                // A pure function: deciding again is the same.
                #expect(self.gateway.words(step) == self.gateway.words(request.decide(known)))
                guard case .need(let lookUp) = step, lookUps < 3 else { return (self.gateway.words(step), lookUps) }
                guard case .session(let sought) = lookUp else { return ("needs something else", lookUps) }
                #expect(sought.ticket.text == issued.ticket.text && sought.host == RuledApps.host)
                lookUps += 1
                let later = (start.0, start.1.advanced(by: .seconds(60 * one.minutes)))
                request.resume(at: later, after: Self.result(of: one.knowledge, one.sender))
                if one.knowledge == .found { known.sessions[key] = cached }
            }
        }

        private static func result(of knowledge: Knowledge, _ sender: Sender) -> LookedUp {
            switch knowledge {
            case .cached, .found, .ended: .done
            case .unavailable: .unavailable(Failure(.sessionStoreUnavailable, "it does not respond"))
            case .unconfirmed: .needsUser(provider: sender.provider)
            }
        }
    }

    @Test(arguments: 0..<4)
    func `whatever is looked up in whatever order, a request is decided by the rules`(seed: UInt64) async throws {
        var random = SeededNumbers(state: seed)
        var world = try await World()
        var decisions: [String: Int] = [:]
        for _ in 0..<25_000 {
            let one = Case(using: &random)
            let (words, lookUps) = try world.decision(about: one)
            decisions[words, default: 0] += 1
            guard words == one.expected, lookUps <= 1 else {
                Issue.record("\(one): \(words) instead of \(one.expected), \(lookUps) look-ups")
                return
            }
        }
        // Every kind of decision has occurred often.
        let kinds = [
            "forwarded to ruled", "forwarded to ruled unknown", "forwarded to recent", "forwarded to api",
            "sign in for ruled", "sign in for recent", "re-check for api with guests", "refused policy.refused",
            "refused policy.denied",
            "refused request.cross_site", "refused session.store_unavailable", "refused token.rejected",
        ]
        #expect(kinds.filter { decisions[$0, default: 0] < 100 } == [])
    }
}
