// SPDX-License-Identifier: Apache-2.0

internal import GateAccounts
internal import GateConfiguration
internal import GateCore
internal import GateHTTP
internal import GateOperations
internal import GatePages
internal import GateRuntime
internal import GateSessions
internal import GateWire
internal import HTTPTypes
internal import Logging

/// The operations API, by which operators see and change what a running gateway holds: JSON under `/v1/`.
///
/// Its listeners decide which clients may use it. A request reads a bounded number of records; the client continues at the
/// `next` of the response.
struct OperationsAPI: Sendable {
    /// What it needs of the gateway.
    struct Environment: Sendable {
        let sessions: @Sendable () -> SessionManager
        /// The configuration in force.
        let configuration: @Sendable () -> Configuration
        /// The latest failures of requests.
        let incidents: IncidentHistory
        /// When the gateway was started, and when the configuration in force was loaded.
        let times: @Sendable () -> (started: Instant, loaded: Instant)
        /// Called when there is a new key.
        let keysChanged: @Sendable (String) -> Void
        /// The configuration in force, and the reload that was refused.
        let policy: @Sendable () -> JSON
        /// Loads the configuration that was refused, by the name of its content.
        let confirmReload: @Sendable (String) throws(OperationsRejection) -> Void
        /// The log of what operators change.
        let logger: Logger
        let clock: WallClock
        /// The user of the gateway, who may use the Unix socket.
        let owner: UInt32
        /// The providers with local accounts.
        var accounts: @Sendable () -> [LocalAccounts] = { [] }
        /// The passkeys of users; nil if they are off.
        var passkeys: @Sendable () -> Passkeys? = { nil }
        /// Sends links to users; nil without a mail server.
        var mailer: @Sendable () -> AccountMailer? = { nil }
        /// The language of messages that no user has asked for.
        var language: @Sendable () -> PageLanguage? = { nil }
        /// The accounts that users have connected; nil if that is off.
        var connections: @Sendable () -> AccountConnections? = { nil }
    }

    /// The number of records that one request reads.
    static let maxRecords = 1000
    /// The number of sessions or users in a response without a limit.
    static let standardLimit: Int64 = 100

    let environment: Environment
    let audit: AuditLog

    /// The API of a gateway.
    init(environment: Environment) {
        self.environment = environment
        self.audit = AuditLog(logger: environment.logger)
    }

    /// The response to a request of a client that may use the API.
    func response(to request: RequestHead, body: [UInt8], from caller: OperationsCaller) async -> Response {
        do {
            let path = request.path.text(in: request.message)
            var parameters = try OperationsParameters(request, body: body)
            let result = try await self.result(of: request.method, path, &parameters, caller)
            return OperationsAPI.json(200, result)
        } catch let rejection as OperationsRejection {
            return OperationsAPI.json(rejection.status, ["error": .string(rejection.message)])
        } catch let failure as Failure {
            let status = failure.reason.entry.status
            return OperationsAPI.json(status, ["error": .string(failure.detail), "code": .string(failure.code)])
        } catch {
            return OperationsAPI.json(500, ["error": .string("\(error)")])
        }
    }

    static func json(_ status: Int, _ value: JSON) -> Response {
        Response(status, fields: [.contentType: "application/json"], body: value.encoded + [0x0A])
    }

    private func result(
        of method: RequestMethod,
        _ path: String,
        _ parameters: inout OperationsParameters,
        _ caller: OperationsCaller
    ) async throws -> JSON {
        guard let endpoint = OperationsAPI.endpoints.first(where: { $0.path == path }) else {
            let paths = OperationsAPI.endpoints.map(\.path).joined(separator: " ")
            throw OperationsRejection(404, "there are \(paths) here")
        }
        // RFC 9110 §9.1.
        guard endpoint.method == (method == .head ? .get : method) else {
            throw OperationsRejection(405, "only \(endpoint.method.rawValue) works here")
        }
        return try await endpoint.respond(self, &parameters, caller)
    }
}

// MARK: Endpoints

extension OperationsAPI {
    /// One endpoint; all of them are for clients that may use the listener: with the token, or as the user of the gateway.
    private struct Endpoint: Sendable {
        typealias Handler =
            @Sendable (OperationsAPI, inout OperationsParameters, OperationsCaller) async throws -> JSON

        let method: RequestMethod
        let path: String
        let respond: Handler

        init(_ method: RequestMethod, _ path: String, _ respond: @escaping Handler) {
            (self.method, self.path, self.respond) = (method, path, respond)
        }
    }

    private static let endpoints: [Endpoint] = [
        Endpoint(.get, "/v1/sessions") { api, parameters, _ in try await api.sessions(&parameters) },
        Endpoint(.post, "/v1/sessions/revoke") { try await $0.revoke(&$1, by: $2) },
        Endpoint(.get, "/v1/users") { api, parameters, _ in try await api.users(&parameters) },
        Endpoint(.get, "/v1/accounts") { api, parameters, _ in try await api.accounts(&parameters) },
        Endpoint(.post, "/v1/accounts/add") { try await $0.addAccount(&$1, by: $2) },
        Endpoint(.post, "/v1/accounts/change") { try await $0.changeAccount(&$1, by: $2) },
        Endpoint(.get, "/v1/passkeys") { api, parameters, _ in
            try await api.passkeys.list(&parameters, limit: OperationsAPI.standardLimit)
        },
        Endpoint(.post, "/v1/passkeys/remove") { try await $0.passkeys.remove(&$1, by: $2) },
        Endpoint(.get, "/v1/connections") { api, parameters, _ in
            try await api.connections.list(&parameters, limit: OperationsAPI.standardLimit)
        },
        Endpoint(.post, "/v1/connections/remove") {
            try await $0.connections.remove(&$1, $0.environment.sessions(), by: $2)
        },
        Endpoint(.get, "/v1/incidents") { api, parameters, _ in try api.incidents(&parameters) },
        Endpoint(.get, "/v1/keys") { api, parameters, _ in try api.keys(parameters) },
        Endpoint(.post, "/v1/keys/rotate") { try $0.rotateKeys(&$1, by: $2) },
        Endpoint(.get, "/v1/policy") { api, parameters, _ in try api.policy(parameters) },
        Endpoint(.get, "/v1/policy/users") { api, parameters, _ in try await api.policyUsers(&parameters) },
        Endpoint(.post, "/v1/policy/confirm") { try $0.confirm(&$1, by: $2) },
    ]

    private var passkeys: PasskeyAdministration {
        get throws(OperationsRejection) {
            try PasskeyAdministration(self.environment.passkeys(), audit: self.audit)
        }
    }

    private var connections: ConnectionAdministration {
        get throws(OperationsRejection) {
            try ConnectionAdministration(self.environment.connections(), audit: self.audit)
        }
    }
}

// MARK: Sessions

extension OperationsAPI {
    /// `GET /v1/sessions`: live sessions that match a filter, at most `limit`.
    private func sessions(_ parameters: inout OperationsParameters) async throws -> JSON {
        let filter = try self.filter(&parameters)
        let limit = Int(try parameters.number("limit", 1...1000) ?? OperationsAPI.standardLimit)
        var cursor: [UInt8]? = try parameters.cursor()
        try parameters.end()
        let manager = self.environment.sessions()
        let now = self.environment.clock.now
        var found: [JSON] = []
        var read = 0
        while let from = cursor, found.count < limit, read < OperationsAPI.maxRecords {
            // Not more than fits: a page cannot be returned in part, since only the store can continue it.
            let size = limit - found.count
            let page = try await manager.sessions(from: from, limit: size, now: now)
            found += page.items.filter(filter.selects).map(OperationsAPI.json)
            read += size
            cursor = page.next
        }
        return ["sessions": .array(found), "next": JSON(cursor: cursor)]
    }

    /// `POST /v1/sessions/revoke`: revokes the sign-ins of the sessions that match a filter.
    private func revoke(_ parameters: inout OperationsParameters, by caller: OperationsCaller) async throws -> JSON {
        let filter = try self.filter(&parameters)
        let isDry = try parameters.flag("dry_run")
        let isAll = try parameters.flag("all")
        let cursor = try parameters.cursor()
        try parameters.end()
        guard !filter.isOfAllUsers || isAll else {
            throw OperationsRejection(
                400,
                "without a filter this revokes the sessions of all users; set 'all' for that"
            )
        }
        guard !isAll || filter.isOfAllUsers else {
            throw OperationsRejection(400, "'all' takes no filter but 'before'")
        }
        let now = self.environment.clock.now
        guard filter.before ?? now <= now else { throw OperationsRejection(400, "'before' is in the future") }
        var notBefore: Instant?
        if !isDry, cursor.isEmpty, filter.isOfOneUser || filter.isOfAllUsers {
            // A sign-in of this second may be older than the request.
            notBefore = filter.before ?? now.advanced(by: .seconds(1))
        }
        let entry = isDry ? nil : self.audit.revoking(filter, notBefore: notBefore, by: caller)
        var ended = 0
        do throws(Failure) {
            let manager = self.environment.sessions()
            // A store that is full rejects the time, but not the removals.
            let unmarked = await OperationsAPI.failure(raising: notBefore, of: filter, in: manager, now: now)
            let page = try await manager.sessions(from: cursor, limit: OperationsAPI.maxRecords, now: now)
            let selected = page.items.filter(filter.selects)
            let families = Set(selected.map(\.family))
            if !isDry {
                for family in families {
                    try await manager.endFamily(family)
                    ended += 1
                    IngressMetrics().ended(.operator)
                }
            }
            if let unmarked { throw unmarked }
            entry?.revoked(signIns: ended)
            return [
                "sign_ins": .array(families.map { .string(OperationsAPI.id(of: $0)) }.sorted { $0.text < $1.text }),
                "sessions": .int(Int64(selected.count)), "not_before_set": .bool(notBefore != nil),
                "next": JSON(cursor: page.next),
            ]
        } catch {
            entry?.failed(error, signIns: ended)
            throw error
        }
    }

    /// Revokes what no list has; returns why it could not.
    private static func failure(
        raising notBefore: Instant?,
        of filter: SessionFilter,
        in manager: SessionManager,
        now: Instant
    ) async -> Failure? {
        guard let notBefore else { return nil }
        do throws(Failure) {
            try await manager.setNotBefore(notBefore, user: filter.user, now: now)
            return nil
        } catch {
            return error
        }
    }

    private func filter(_ parameters: inout OperationsParameters) throws(OperationsRejection) -> SessionFilter {
        var filter = SessionFilter()
        filter.ids = Set(try parameters.texts("id", limit: SessionFilter.maxIDs))
        filter.user = try parameters.text("user")
        filter.provider = try parameters.text("provider")
        filter.place = (try parameters.text("host")?.lowercased()).map(SessionFilter.Place.host)
        filter.before = try parameters.number("before", 0...253_402_300_799).map(Instant.init(seconds:))
        if let app = try parameters.text("app") {
            guard filter.place == nil else { throw OperationsRejection(400, "'app' and 'host' exclude each other") }
            guard let hosts = AppHosts(of: app, in: self.environment.configuration()) else {
                throw OperationsRejection(400, "there is no app '\(PrintableText.escaped(app, limit: 100))'")
            }
            filter.place = .app(hosts)
        }
        return filter
    }

    private static func json(_ session: ListedSession) -> JSON {
        var members: [String: JSON] = [
            "sign_in": .string(self.id(of: session.family)), "created": .int(session.created.seconds),
            "last_seen": .int(session.lastSeen.seconds), "expires": .int(session.expires.seconds),
        ]
        guard let card = session.card else { return .object(members) }
        members["id"] = .string(card.id)
        members["user"] = .string(card.user)
        members["provider"] = .string(card.provider)
        members["name"] = card.name.map(JSON.string)
        members["email"] = card.email.map(JSON.string)
        members["host"] = .string(card.host)
        members["auth_time"] = card.authTime.map { .int($0.seconds) }
        members["device"] = card.device.map(JSON.string)
        return .object(members)
    }

    /// A short name of a sign-in, which all of its sessions share.
    private static func id(of family: [UInt8]) -> String { Base64URL.encode(family.prefix(9)) }
}

// MARK: Users

extension OperationsAPI {
    /// `GET /v1/users`: users who have signed in, or the one with a user key.
    private func users(_ parameters: inout OperationsParameters) async throws -> JSON {
        let user = try parameters.text("user")
        let limit = Int(try parameters.number("limit", 1...1000) ?? OperationsAPI.standardLimit)
        let cursor = try parameters.cursor()
        try parameters.end()
        let now = self.environment.clock.now
        if let user {
            let found = try await self.environment.sessions().user(user, now: now)
            return ["users": .array(found.map { [OperationsAPI.json($0)] } ?? [])]
        }
        let page = try await self.environment.sessions().users(from: cursor, limit: limit, now: now)
        return ["users": .array(page.items.map(OperationsAPI.json)), "next": JSON(cursor: page.next)]
    }

    private static func json(_ user: RegisteredUser) -> JSON {
        let profile = user.profile
        var members = self.facts(of: profile)
        members["first_sign_in"] = .int(user.firstSignIn.seconds)
        members["last_sign_in"] = .int(user.lastSignIn.seconds)
        members["last_seen"] = .int(user.lastSeen.seconds)
        members["name"] = profile.name.map(JSON.string)
        members["preferred_username"] = profile.username.map(JSON.string)
        return .object(members)
    }

    /// What rules can ask for.
    static func facts(of profile: Profile) -> [String: JSON] {
        var members: [String: JSON] = ["user": .string(profile.user), "provider": .string(profile.provider)]
        members["email"] = profile.email.map(JSON.string)
        members["email_verified"] = profile.email.map { _ in .bool(profile.emailVerified) }
        members["email_authoritative"] = profile.email.map { _ in .bool(profile.emailAuthoritative) }
        members["tenant"] = profile.tenant.map(JSON.string)
        members["groups"] = profile.groups.isEmpty ? nil : .array(profile.groups.map(JSON.string))
        members["groups_complete"] = .bool(profile.groupsComplete)
        members["roles"] = profile.roles.isEmpty ? nil : .array(profile.roles.map(JSON.string))
        members["groups_requested"] = profile.groupsRequested.map { .array($0.sorted().map(JSON.string)) }
        members["roles_complete"] = .bool(profile.rolesComplete)
        members["auth_time"] = profile.authTime.map { .int($0.seconds) }
        members["claims"] = profile.claims.isEmpty ? nil : .object(profile.claims.mapValues(\.json))
        return members
    }
}

// MARK: Incidents

extension OperationsAPI {
    /// `GET /v1/incidents`: what is known of the incident or of the request with an id.
    private func incidents(_ parameters: inout OperationsParameters) throws -> JSON {
        guard let id = try parameters.text("id") else { throw OperationsRejection(400, "'id' is missing") }
        try parameters.end()
        let incidents = self.environment.incidents
        let (count, completeSince) = incidents.extent
        let times = self.environment.times()
        return [
            "incidents": .array(incidents.incidents(named: id).map(\.json)),
            "kept": .int(Int64(count)),
            "complete_since": .int((completeSince ?? times.started).seconds),
            "started_at": .int(times.started.seconds),
            "loaded_at": .int(times.loaded.seconds),
        ]
    }
}
