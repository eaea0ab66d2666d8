// SPDX-License-Identifier: Apache-2.0

package import GateClients
package import GateCore
internal import GateOpenID
internal import GateProviderHTTP

/// A client's flow against the running gateway, step by step: `gatehouse try --client`.
///
/// The session of the client begins and ends with it; that of the user in the browser stays.
package struct TestClientFlow: Sendable {
    /// How the browser's redirect comes back.
    enum Arrival: Sendable, Hashable {
        /// To a port of this machine.
        case loopback(WebURL)
        /// To the client itself, so that the operator copies the URL.
        case pasted
    }

    private typealias Report = ClientFlowReport

    private let flow: ClientFlow
    private let arrival: Arrival
    private let transport: CurlTransport
    private let clock: WallClock
    private let show: @Sendable (String) -> Void

    /// A flow of a client.
    ///
    /// - Parameters:
    ///   - client: The client.
    ///   - publicURL: Where the gateway is.
    ///   - chosen: The redirect URI to use; nil for one on loopback, or else the first.
    ///   - port: The port for a native client's redirect URI on loopback, which has none.
    ///   - show: Prints a step.
    /// - Throws: What the file lacks for such a flow.
    package init(
        of client: ClientSettings,
        at publicURL: Origin,
        redirectingTo chosen: String?,
        port: Int,
        show: @escaping @Sendable (String) -> Void
    ) throws(ClientFlowFailure) {
        guard client.grants.contains(.authorizationCode) else {
            throw ClientFlowFailure(
                "'grants' of \(client.id) does not have authorization_code",
                next: "only that flow can be tried"
            )
        }
        let (redirectURI, arrival) = try TestClientFlow.redirect(of: client, chosen, port: port)
        do throws(Failure) {
            self.transport = try CurlTransport(to: "gateway", trust: ProviderTrust(), connections: 1)
        } catch {
            throw ClientFlowFailure("\(error.code): \(error.detail)", next: "see docs/install.md")
        }
        self.flow = ClientFlow(of: client, issuer: "\(publicURL)", redirectURI: redirectURI)
        self.arrival = arrival
        self.clock = .system
        self.show = show
    }

    /// The redirect URI of a request, and how the response comes back from it.
    static func redirect(
        of client: ClientSettings,
        _ chosen: String?,
        port: Int
    ) throws(ClientFlowFailure) -> (String, Arrival) {
        if let chosen {
            guard client.redirectURI(chosen) else {
                let known = client.redirectURIs.map(\.text).joined(separator: ", ")
                throw ClientFlowFailure(
                    "'\(PrintableText.escaped(chosen, limit: 200))' is not one of 'redirect_uris' of \(client.id)",
                    next: "the gateway compares byte by byte; the file has \(known)"
                )
            }
            return (chosen, self.arrival(at: chosen))
        }
        let onLoopback = client.redirectURIs.first { uri in
            switch uri.kind {
            case .loopback, .localhost: true
            case .web, .customScheme: false
            }
        }
        guard let uri = onLoopback ?? client.redirectURIs.first else {
            throw ClientFlowFailure("\(client.id) has no 'redirect_uris'", next: "add the one that it uses")
        }
        guard client.kind == .native, case .loopback = uri.kind, let url = WebURL(uri.text), url.origin.hasDefaultPort,
            let origin = Origin(scheme: "http", host: url.origin.host, port: port)
        else { return (uri.text, self.arrival(at: uri.text)) }
        let text = "\(origin)\(url.target)"
        return (text, self.arrival(at: text))
    }

    private static func arrival(at uri: String) -> Arrival {
        guard let url = WebURL(uri), !url.origin.isSecure, url.origin.isLoopback else { return .pasted }
        return .loopback(url)
    }

    /// Walks through the flow.
    ///
    /// - Parameters:
    ///   - limit: How long to wait for the browser.
    ///   - paste: Reads the URL that the operator copies; nil at the end of the input.
    /// - Throws: What failed first. Tokens that were issued are revoked then as well.
    package func run(within limit: Duration, paste: () -> String?) async throws(ClientFlowFailure) {
        defer { self.transport.shutdown() }
        let metadata = try await self.metadata()
        let code = try await self.code(metadata, within: limit, paste: paste)
        let tokens = try await self.tokens(4, "token request", self.flow.tokenRequest(code: code), metadata)
        var latest = tokens
        do throws(ClientFlowFailure) {
            try await self.showClaims(of: tokens, metadata)
            latest = try await self.refreshed(tokens, metadata)
            try await self.userinfo(latest, metadata, expecting: 200)
        } catch {
            // What failed first is what the operator has to know.
            try? await self.revoke(latest, metadata)
            throw error
        }
        try await self.revoke(latest, metadata)
        try await self.userinfo(latest, metadata, expecting: 401)
        self.show("\nThe flow of \(self.flow.client.id) works from its first step to its last.")
    }
}

// MARK: The steps

extension TestClientFlow {
    private static let path = "/.well-known/openid-configuration"

    private func metadata() async throws(ClientFlowFailure) -> JSON {
        let url = "\(self.flow.issuer)\(TestClientFlow.path)"
        self.show(Report.heading(1, "metadata", "GET \(url)"))
        let found = try await self.call("GET", url)
        let next = "check that 'public_url' leads to this gateway, and that it runs with this file"
        guard found.status == 200, let issuer = found.json["issuer"]?.string else {
            throw ClientFlowFailure("\(url) responded \(found.status), expected 200 with metadata", next: next)
        }
        guard isIdentical(issuer, self.flow.issuer) else {
            throw ClientFlowFailure("the metadata is of the issuer '\(issuer)'", next: next)
        }
        self.show(Report.row("issuer", issuer, "the 'public_url' of the file"))
        return found.json
    }

    private func code(
        _ metadata: JSON,
        within limit: Duration,
        paste: () -> String?
    ) async throws(ClientFlowFailure) -> String {
        var listener: CallbackListener?
        if case .loopback(let url) = self.arrival {
            do throws(Failure) {
                listener = try await CallbackListener.open(for: url, of: self.flow)
            } catch {
                throw ClientFlowFailure(
                    "\(error.code): \(error.detail)",
                    next: "stop the program that listens there, or choose another port with --port"
                )
            }
        }
        let pushed = try await self.pushed(metadata)
        self.show(Report.heading(2, "authorization request", "open this URL in a browser and sign in"))
        let endpoint = try self.endpoint("authorization_endpoint", metadata)
        self.show("\n   \(self.flow.authorizationURL(at: endpoint, pushed: pushed))\n")
        self.show(
            self.flow.authorizationParameters.map { Report.row($0.name, $0.value, $0.purpose) }
                .joined(separator: "\n")
        )
        self.show(Report.heading(3, "authorization response", "the browser is redirected to \(self.flow.redirectURI)"))
        let code = try self.flow.code(in: try await self.callback(listener, within: limit, paste: paste))
        self.show(Report.row("code", Report.masked(code), "valid for one minute"))
        self.show(Report.row("state", "matches"))
        self.show(Report.row("iss", "matches"))
        return code
    }

    /// The reference to the parameters of a client that has to push them; nil for all others.
    private func pushed(_ metadata: JSON) async throws(ClientFlowFailure) -> String? {
        guard self.flow.client.requiresPushedRequests else { return nil }
        let url = try self.endpoint("pushed_authorization_request_endpoint", metadata)
        self.show("\n   'require_par' is true, so the parameters are sent to \(url) first")
        let found = try await self.call("POST", url, self.flow.authorizationParameters)
        guard found.status == 201, let reference = found.json["request_uri"]?.string else {
            throw self.rejected(found, by: url)
        }
        return reference
    }

    private func callback(
        _ listener: CallbackListener?,
        within limit: Duration,
        paste: () -> String?
    ) async throws(ClientFlowFailure) -> String {
        guard let listener else {
            self.show("   Paste the URL to which the browser was redirected; an error page of the browser has it too:")
            let text = paste() ?? ""
            return String(text.drop { $0 == " " }.prefix { $0 != " " && $0 != "\r" })
        }
        let query = await listener.query(within: limit)
        await listener.close()
        guard let query else {
            throw ClientFlowFailure(
                "the browser did not come back within \(limit.wholeSeconds) s",
                next: "if it shows a page of the gateway, its code is in docs/errors.md"
            )
        }
        let place = self.flow.redirectURI.prefix { $0 != "?" }
        return "\(place)?\(query)"
    }

    private func tokens(
        _ number: Int,
        _ title: String,
        _ parameters: [ClientFlow.Parameter],
        _ metadata: JSON
    ) async throws(ClientFlowFailure) -> ClientFlow.Tokens {
        let url = try self.endpoint("token_endpoint", metadata)
        self.show(Report.heading(number, title, "POST \(url)"))
        if self.flow.authorization != nil {
            self.show(Report.row("Authorization", "Basic …", "client_id and 'secret' of the file, form-encoded"))
        }
        if self.flow.client.requiresDPoP {
            self.show(Report.row("DPoP", "eyJ…", "a proof of the key to which the tokens are bound"))
        }
        self.show(Report.masked(parameters))
        let found = try await self.call("POST", url, parameters)
        self.show(Report.row("response", "\(found.status)"))
        let members = (found.json.object ?? [:]).sorted { $0.key < $1.key }.map { name, value in
            (name: name, value: value.string ?? String(decoding: value.encoded, as: UTF8.self))
        }
        for member in members { self.show(Report.row(member.name, Report.shown(member.name, member.value))) }
        guard found.status == 200, let accessToken = found.json["access_token"]?.string else {
            throw self.rejected(found, by: url)
        }
        return ClientFlow.Tokens(
            accessToken: accessToken,
            refreshToken: found.json["refresh_token"]?.string,
            idToken: found.json["id_token"]?.string
        )
    }

    private func showClaims(
        of tokens: ClientFlow.Tokens,
        _ metadata: JSON
    ) async throws(ClientFlowFailure) {
        guard let idToken = tokens.idToken, let claims = ClientFlow.decoded(tokens.accessToken)?.claims else {
            throw ClientFlowFailure("the response has no ID token, or no access token of RFC 9068", next: "report this")
        }
        self.show(Report.heading(5, "ID token", "who has signed in; for the client alone"))
        self.show(Report.table(of: try await self.verified(idToken, metadata)))
        self.show(Report.heading(6, "access token", "for the apps in 'aud'; the client treats it as opaque"))
        self.show(Report.table(of: claims))
    }

    private func verified(
        _ idToken: String,
        isRefreshed: Bool = false,
        _ metadata: JSON
    ) async throws(ClientFlowFailure) -> [String: JSON] {
        let keys = try await self.call("GET", try self.endpoint("jwks_uri", metadata)).json["keys"]?.array ?? []
        return try self.flow.claims(
            ofIDToken: idToken,
            keyIDs: keys.compactMap { $0["kid"]?.string },
            isRefreshed: isRefreshed,
            now: self.clock.now
        )
    }

    private func refreshed(
        _ tokens: ClientFlow.Tokens,
        _ metadata: JSON
    ) async throws(ClientFlowFailure) -> ClientFlow.Tokens {
        guard let token = tokens.refreshToken else {
            self.show(Report.heading(7, "refresh", "'grants' does not have refresh_token"))
            return tokens
        }
        let found = try await self.tokens(7, "refresh", self.flow.refreshRequest(token), metadata)
        if let idToken = found.idToken { _ = try await self.verified(idToken, isRefreshed: true, metadata) }
        return found
    }

    private func userinfo(
        _ tokens: ClientFlow.Tokens,
        _ metadata: JSON,
        expecting status: Int
    ) async throws(ClientFlowFailure) {
        let url = try self.endpoint("userinfo_endpoint", metadata)
        if status == 200 { self.show(Report.heading(8, "userinfo", "GET \(url)")) }
        let found = try await self.call("GET", url, token: tokens.accessToken)
        self.show(Report.row(status == 200 ? "response" : "userinfo", "\(found.status)"))
        guard found.status == status else { throw self.rejected(found, by: url) }
        if status == 200 { self.show(Report.table(of: found.json.object ?? [:])) }
    }

    private func revoke(_ tokens: ClientFlow.Tokens, _ metadata: JSON) async throws(ClientFlowFailure) {
        let url = try self.endpoint("revocation_endpoint", metadata)
        self.show(Report.heading(9, "revocation", "POST \(url)"))
        let parameters = self.flow.revocationRequest(tokens.refreshToken ?? tokens.accessToken)
        self.show(Report.masked(parameters))
        let found = try await self.call("POST", url, parameters)
        self.show(Report.row("response", "\(found.status)"))
        guard found.status == 200 else { throw self.rejected(found, by: url) }
    }
}

// MARK: Calls

extension TestClientFlow {
    private func endpoint(_ name: String, _ metadata: JSON) throws(ClientFlowFailure) -> String {
        guard let url = metadata[name]?.string, WebURL(url) != nil else {
            throw ClientFlowFailure("the metadata has no URL as '\(name)'", next: "update the gateway")
        }
        return url
    }

    private func rejected(_ found: (status: Int, json: JSON), by url: String) -> ClientFlowFailure {
        let code = found.json["error"]?.string ?? "no error code"
        let detail = found.json["error_description"]?.string ?? "without a description"
        let incident = found.json["incident"]?.string.map { "; 'gatehouse explain \($0)' has more" } ?? ""
        return ClientFlowFailure(
            "\(url) responded \(found.status): \(code): \(detail)",
            next: "see docs/clients.md#errors\(incident)"
        )
    }

    private func call(
        _ method: String,
        _ url: String,
        _ parameters: [ClientFlow.Parameter] = [],
        token: String? = nil
    ) async throws(ClientFlowFailure) -> (status: Int, json: JSON) {
        guard let address = WebURL(url) else {
            throw ClientFlowFailure("'\(url)' is not a URL", next: "check 'public_url'")
        }
        var headers = [(name: "User-Agent", value: "gatehouse"), (name: "Accept", value: "application/json")]
        if let token { headers.append((name: "Authorization", value: "\(self.flow.tokenScheme) \(token)")) }
        if method == "POST" || token != nil, let proof = self.flow.proof(method, url, with: token, now: self.clock.now)
        {
            headers.append((name: "DPoP", value: proof))
        }
        var body: [UInt8]?
        if method == "POST" {
            if let authorization = self.flow.authorization {
                headers.append((name: "Authorization", value: authorization))
            }
            headers.append((name: "Content-Type", value: "application/x-www-form-urlencoded"))
            body = Array(Form(parameters.map { Form.Field($0.name, $0.value) }).encoded.utf8)
        }
        let request = ProviderRequest(
            method: method,
            address: address,
            headers: headers,
            body: body,
            limit: 262_144,
            timeout: .seconds(15)
        )
        do throws(Failure) {
            let response = try await self.transport.response(to: request)
            // A response without JSON is one without members; its status is reported.
            return (response.status, (try? JSON(parsing: response.body)) ?? [:])
        } catch {
            throw ClientFlowFailure(
                "\(url): \(error.code): \(error.detail)",
                next: "check that the gateway runs, and that this machine reaches 'public_url'"
            )
        }
    }
}
