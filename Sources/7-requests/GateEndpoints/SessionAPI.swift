// SPDX-License-Identifier: Apache-2.0

internal import GateClients
internal import GateCore
internal import GateHTTP
internal import GateIssuer
internal import GateOperations
internal import GateRuntime
internal import GateSessions
internal import GateWire
internal import HTTPTypes

/// The session API of native apps: JSON in, JSON out, for the tokens of every public client.
struct SessionAPI: Sendable {
    let steps: SignInSteps
    let tokens: TokenEndpoints

    /// What it can do, by the name after the prefix.
    private enum Operation: String {
        case register
        case login
        case refresh
        case logout
        case me

        /// Its methods; without `OPTIONS` no page of another origin can send JSON (Fetch standard §4.10).
        var methods: [RequestMethod] {
            switch self {
            case .register, .login: [.post]
            case .refresh, .logout: [.post, .options]
            case .me: [.get, .head, .options]
            }
        }
    }

    /// The response to a request below the prefix.
    func response(to request: EndpointRequest, at name: String) async -> Response {
        var client = "unknown"
        do {
            guard let operation = Operation(rawValue: name) else {
                throw SessionAPIError(
                    404,
                    "not_found",
                    "there are register, login, refresh, logout and me",
                    .correctRequest
                )
            }
            guard operation.methods.contains(request.method) else {
                let names = operation.methods.map(\.rawValue).joined(separator: ", ")
                let error = SessionAPIError(405, "method_not_allowed", "send \(names)", .correctRequest)
                var response = self.response(to: error, request, of: client)
                response.head.headerFields[.allow] = names
                return response
            }
            guard request.method != .options else { return TokenEndpoints.preflight(operation.methods) }
            let response: Response
            switch operation {
            case .register: response = try await self.register(request, &client)
            case .login: response = try await self.logIn(request, &client)
            case .refresh: response = try await self.refresh(request, &client)
            case .logout: response = try await self.logOut(request, &client)
            case .me: response = try await self.user(request, &client)
            }
            if response.rejection == nil { self.count("ok", of: client) }
            return response
        } catch {
            return self.response(to: error, request, of: client)
        }
    }

    private func count(_ result: String, of client: String) {
        self.tokens.runtime.services.metrics.clientRequest(client, endpoint: "session_api", result: result)
    }

    func response(to thrown: any Error, _ request: EndpointRequest, of client: String) -> Response {
        let error: SessionAPIError
        switch thrown {
        case let known as SessionAPIError: error = known
        case let known as OAuthError: error = SessionAPIError(known)
        case let failure as Failure: error = SessionAPIError(failure)
        default: error = SessionAPIError(OAuthError(.serverError, "unknown"))
        }
        self.count(error.code, of: client)
        let failure = error.failure
        let rendering = self.tokens.runtime.rendering
        let incident = rendering.logged(failure, at: error.context, of: request.clientKind, isPage: false)
        var response = TokenEndpoints.json(error.status, error.json(incident: incident))
        if error.status == 401 { response.head.headerFields[.wwwAuthenticate] = "Bearer realm=\"gatehouse\"" }
        if let seconds = error.retryAfter { response.head.headerFields[.retryAfter] = "\(seconds)" }
        response.rejection = Response.Rejection(failure.reason, incident: incident)
        return response
    }

    /// The members of a body, all of them texts.
    func members(of request: EndpointRequest) throws -> [String: String] {
        guard let json = request.json?.object else {
            let message = "the body must be a JSON object, with Content-Type application/json and no member twice"
            throw SessionAPIError(400, "invalid_request", message, .correctRequest)
        }
        return try json.mapValues { value in
            guard let text = value.string else {
                throw SessionAPIError(400, "invalid_request", "each member must be a string", .correctRequest)
            }
            return text
        }
    }

    /// The public client of a refresh token: that which the body names, or the one that the token is for.
    private func client(of token: String, named id: String?) throws -> ClientSettings {
        let issuer = self.tokens.issuer
        let clients = id.map { id in issuer.clients[id].map { [$0] } ?? [] } ?? Array(issuer.clients.values)
        let found = clients.first { client in
            client.kind != .confidential && RefreshToken(token, for: client.id, by: issuer.sealer) != nil
        }
        guard let found else {
            throw OAuthError(
                .invalidGrant,
                "no native or single-page client of the gateway has this refresh token"
            )
        }
        return found
    }

    private func refresh(_ request: EndpointRequest, _ known: inout String) async throws -> Response {
        let body = try self.members(of: request)
        guard let token = body["refresh_token"] else {
            throw SessionAPIError(400, "invalid_request", "'refresh_token' is missing", .correctRequest)
        }
        let client = try self.client(of: token, named: body["client_id"])
        known = client.id
        guard client.grants.contains(.refreshToken) else {
            throw OAuthError(.unauthorizedClient, "the client's 'grants' do not have refresh_token")
        }
        var asked = TokenRequest(client: client, form: Form([Form.Field("refresh_token", token)]))
        asked.keyThumbprint = try self.tokens.keyThumbprint(for: client, request)
        let session = try await self.tokens.refreshed(asked, request)
        var members = try self.tokens.members(of: session, asked, request, nonce: nil)
        members["id_token"] = nil
        members["user"] = .object(
            session.session.profile.claims(
                for: session.grant.scopes,
                of: client,
                methods: session.session.methods
            )
        )
        return TokenEndpoints.json(200, .object(members))
    }

    private func logOut(_ request: EndpointRequest, _ known: inout String) async throws -> Response {
        let sessions = self.tokens.runtime.sessions
        let ticket: Ticket
        if request.authorization != nil {
            let token = try self.accessToken(of: request)
            (ticket, known) = (token.ticket, token.client)
        } else {
            guard let text = try self.members(of: request)["refresh_token"] else {
                let message = "send 'refresh_token' in the body, or the access token in Authorization"
                throw SessionAPIError(400, "invalid_request", message, .correctRequest)
            }
            let client = try self.client(of: text, named: nil)
            guard let token = RefreshToken(text, for: client.id, by: self.tokens.issuer.sealer) else {
                throw OAuthError(.invalidGrant, "no client of the gateway has this refresh token")
            }
            (ticket, known) = (sessions.ticket(of: token, client: client.id), client.id)
        }
        try await self.tokens.end(ticket)
        return TokenEndpoints.json(200, .object([:]))
    }

    private func user(_ request: EndpointRequest, _ known: inout String) async throws -> Response {
        let token = try self.accessToken(of: request)
        known = token.client
        let session = try await self.tokens.session(of: token, request)
        let scopes = session.grant.scopes.filter(token.scopes.contains)
        let client = self.tokens.issuer.client(issuedTo: token.client)
        return TokenEndpoints.json(
            200,
            [
                "user": .object(
                    session.session.profile.claims(
                        for: scopes,
                        of: client,
                        methods: session.session.methods
                    )
                )
            ]
        )
    }

    private func accessToken(of request: EndpointRequest) throws -> AccessToken {
        let token = try self.tokens.accessToken(of: request)
        guard let client = self.tokens.issuer.clients[token.client], client.kind != .confidential else {
            throw OAuthError(.invalidToken, "the token belongs to a client with a secret, which calls no session API")
        }
        return token
    }
}
