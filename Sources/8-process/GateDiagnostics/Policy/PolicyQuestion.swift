// SPDX-License-Identifier: Apache-2.0

package import GateConfiguration
package import GateCore
internal import GatePolicy
internal import GateProviders
internal import GateWire

/// A request of a user to an app, about which the rules are asked without a gateway.
package struct PolicyQuestion: Sendable {
    /// The name of the app.
    package var app: String
    /// The user; nil without a session.
    package var profile: Profile?
    package var path: String
    package var method = "GET"
    /// The client IP; nil if it is not known.
    package var client: IPAddress?
    /// The time of the request.
    package var time: Instant
    /// When the user last authenticated; nil for what the profile has, else the time of the request.
    package var authenticated: Instant?
    /// When the user last used a passkey; nil for never.
    package var passkeyUsed: Instant?
    /// The method of the message to an MCP server; nil without one.
    package var mcpMethod: String?
    /// The tool that the message calls; nil for none.
    package var mcpTool: String?
    /// What the access token of the request permits; nil for the user's own session, and for a machine, whose token permits none.
    package var scopes: [String]?
    /// The verified certificate of the client; nil for none.
    package var certificate: CertificateFacts?

    /// A `GET` of an unknown client.
    package init(app: String, profile: Profile?, path: String, time: Instant) {
        self.app = app
        self.profile = profile
        self.path = path
        self.time = time
    }

    /// The method; messages to an MCP server are in a POST.
    var shownMethod: String { self.mcpMethod == nil && self.mcpTool == nil ? self.method : "POST" }

    /// The decision on the request by a configuration.
    ///
    /// - Throws: `policy.question` if the configuration has no such app, or if the path does not lead to it.
    package func response(of configuration: Configuration) throws(Failure) -> PolicyResponse {
        guard let app = configuration.apps.first(where: { $0.route.app == self.app }) else {
            let names = configuration.apps.prefix(12).map(\.route.app).joined(separator: ", ")
            throw Failure(
                .policyQuestion,
                "there is no app '\(PrintableText.escaped(self.app))'; the file has \(names)"
            )
        }
        let sent = Array(self.path.utf8.prefix { $0 != UInt8(ascii: "?") })
        guard let path = CanonicalPath.matched(ofReference: sent) else {
            throw Failure(
                .policyQuestion,
                "'\(PrintableText.escaped(self.path))' is not a path that a request can have"
            )
        }
        try self.check(path, leadsTo: app, of: configuration)
        var facts = RequestFacts(
            method: self.shownMethod,
            client: self.client,
            time: self.time,
            authenticated: self.authenticated ?? self.profile?.authTime ?? self.time
        )
        facts.message = self.message
        facts.passkeyUsed = self.passkeyUsed
        let isMachine = self.profile.map { profile in
            profile.provider == Profile.serviceTokenProvider
                || configuration.issuers.contains { $0.id == profile.provider }
        }
        facts.certificate = self.certificate
        facts.scopes = self.scopes ?? (isMachine ?? false ? [] : nil)
        let guardsSpellings = app.traffic.strictness.pathSpelling == .any
        let decision = app.route.decision(
            for: facts,
            path: path,
            profile: self.profile,
            guardsSpellings: guardsSpellings
        )
        let results = app.route.results(for: facts, path: path, profile: self.profile)
        var response = PolicyResponse(question: self, decision: decision, results: results)
        if decision.isAdmission {
            response.until = app.route.admissionEnd(
                for: facts,
                path: path,
                profile: self.profile,
                guardsSpellings: guardsSpellings
            )
        }
        if case .scopesNeeded = decision {
            response.missing = app.route.missingScopes(for: facts, path: path, profile: self.profile)
        }
        return response
    }

    /// The message to an MCP server: the one that is asked about, or what a request without a body is.
    private var message: MCPMessage? {
        if let mcpTool { return MCPMessage(method: MCPMessage.toolCall, tool: mcpTool) }
        if let mcpMethod { return MCPMessage(method: mcpMethod) }
        switch self.method {
        case "GET", "HEAD": return .stream
        case "DELETE": return .end
        default: return nil
        }
    }

    private func check(
        _ path: [UInt8],
        leadsTo app: AppSettings,
        of configuration: Configuration
    ) throws(Failure) {
        let table = RouteTable(configuration.apps.map { ($0.route.origins.hosts, $0.route.path) })
        let host = app.route.origins.first?.host
        let found = host.map { table.entry(host: $0, path: path.span) } ?? nil
        let isInside = RouteTable([([.exact("a")], app.route.path)]).entry(host: "a", path: path.span) != nil
        guard isInside else {
            throw Failure(.policyQuestion, "the path is outside of \(app.route.path), the path of \(self.app)")
        }
        if host != nil, let found, configuration.apps[found].route.app != self.app {
            throw Failure(.policyQuestion, "the path belongs to the app \(configuration.apps[found].route.app)")
        }
    }
}

extension Profile {
    /// Reads a profile as `/oauth2/userinfo` shows it; what is missing is unknown.
    ///
    /// - Throws: `policy.question` if it has no user.
    package init(described json: JSON) throws(Failure) {
        let user = json["user"]?.string ?? json["sub"]?.string
        let parts = user.map { $0.split(separator: ":", maxSplits: 1).map(String.init) } ?? []
        let provider = json["provider"]?.string ?? (parts.count == 2 ? parts[0] : nil)
        let subject = json["subject"]?.string ?? (parts.count == 2 ? parts[1] : nil)
        guard let provider, let subject else {
            let help = "write 'user', such as google:104729384756102938475"
            throw Failure(.policyQuestion, "the profile has neither 'user' nor 'provider' and 'subject'; \(help)")
        }
        self.init(provider: provider, issuer: json["issuer"]?.string ?? "", subject: subject)
        self.tenant = json["tenant"]?.string
        self.name = json["name"]?.string
        self.email = json["email"]?.string
        self.emailVerified = json["email_verified"]?.bool ?? false
        self.emailAuthoritative = json["email_authoritative"]?.bool ?? false
        self.groups = json["groups"]?.array?.compactMap(\.string) ?? []
        self.groupsComplete = json["groups_complete"]?.bool ?? false
        self.groupsRequested = json["groups_requested"]?.array.map { Set($0.compactMap(\.string)) }
        self.roles = json["roles"]?.array?.compactMap(\.string) ?? []
        self.rolesComplete = json["roles_complete"]?.bool ?? true
        self.authTime = json["auth_time"]?.integer.map(Instant.init(seconds:))
        self.claims = json["claims"]?.object?.compactMapValues(ClaimValue.init) ?? [:]
    }
}
