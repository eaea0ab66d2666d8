// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// GitHub's OAuth App flow: no ID token, form answers unless JSON is asked for, errors with status 200.
struct GitHubSimulator: Sendable {
    let address: DemoAddress
    let client: DemoClient
    let grants: DemoGrants
    let clock: WallClock
    let random: RandomBytes

    private static let documentation = "https://docs.github.com/apps/oauth-apps/"

    /// Answers what browsers ask for; nil for everything else.
    func page(for request: DemoRequest) -> DemoResponse? {
        switch (request.method, request.path) {
        case ("GET", "/login/oauth/authorize"), ("POST", "/login/oauth/authorize"): self.authorize(request)
        default: nil
        }
    }

    /// Answers everything else.
    func response(to request: DemoRequest) -> DemoResponse {
        switch (request.method, request.path) {
        case ("POST", "/login/oauth/access_token"): self.accessToken(request)
        case ("GET", "/api/v3/user"): self.api(request) { .object($0.person.record) }
        case ("GET", "/api/v3/user/emails"):
            self.api(request) { $0.scopes.contains { $0 == "user:email" || $0 == "user" } ? $0.person.emails : nil }
        case ("GET", "/.well-known/oauth-authorization-server/login/oauth"): .json(self.metadata)
        default: Self.message("Not Found", status: 404)
        }
    }

    private var issuer: String { self.address.base + "/login/oauth" }

    private var metadata: JSON {
        [
            "issuer": .string(self.issuer),
            "authorization_endpoint": .string(self.issuer + "/authorize"),
            "token_endpoint": .string(self.issuer + "/access_token"),
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "code_challenge_methods_supported": ["S256"],
        ]
    }

    // MARK: authorization endpoint

    private func authorize(_ request: DemoRequest) -> DemoResponse {
        let page = DemoSignIn(provider: "GitHub", accent: "#24292f", people: Self.people)
        let form = page.authorization(of: request)
        guard form["client_id"] == self.client.id else { return page.errorPage("404", "Not Found", status: 404) }
        guard self.allows(redirect: form["redirect_uri"]) else {
            let text = "The redirect_uri MUST match the registered callback URL for this application."
            return self.refuse("redirect_uri_mismatch", text, form)
        }
        guard Self.isSound(challenge: form["code_challenge"], method: form["code_challenge_method"]) else {
            return page.errorPage("invalid_request", "The code challenge must be S256 with 43 characters.", status: 400)
        }
        switch page.choice(of: request) {
        case .none: return page.page(for: request)
        case .denied:
            return self.refuse("access_denied", "The user has denied your application access.", form)
        case .person(let person): return self.grant(person, form)
        }
    }

    /// An OAuth App's redirect may lie below the registered callback, on its host and port.
    private func allows(redirect: String?) -> Bool {
        guard let redirect, redirect != self.client.callback else { return true }
        guard let asked = WebAddress(redirect), let registered = WebAddress(self.client.callback) else { return false }
        return asked.origin == registered.origin && asked.path.hasPrefix(registered.path + "/")
    }

    private static func isSound(challenge: String?, method: String?) -> Bool {
        challenge == nil ? method == nil : method == "S256" && challenge?.utf8.count == 43
    }

    private func refuse(_ error: String, _ text: String, _ form: Form) -> DemoResponse {
        let fields = Form([
            Form.Field("error", error), Form.Field("error_description", text),
            Form.Field("error_uri", Self.documentation + "troubleshooting-authorization-request-errors/"),
            Form.Field("iss", self.issuer), Form.Field("state", form["state"] ?? ""),
        ])
        return .redirect(to: "\(self.client.callback)?\(fields.encoded.replacing("%20", with: "+"))")
    }

    private func grant(_ person: DemoPerson, _ form: Form) -> DemoResponse {
        let code = hexadecimal(self.random.bytes(10))
        let redirect = form["redirect_uri"] ?? self.client.callback
        let grant = DemoGrant(
            person: person,
            redirect: redirect,
            scopes: (form["scope"] ?? "").split { $0 == " " || $0 == "," }.map(String.init).sorted(),
            nonce: nil,
            challenge: form["code_challenge"],
            expires: self.clock.now.advanced(by: .seconds(600)),
        )
        self.grants.insert(grant, for: code)
        let fields = Form([
            Form.Field("code", code), Form.Field("iss", self.issuer), Form.Field("state", form["state"] ?? ""),
        ])
        return .redirect(to: "\(redirect)?\(fields.encoded)")
    }

    // MARK: token endpoint

    private func accessToken(_ request: DemoRequest) -> DemoResponse {
        let form = request.form
        guard form["client_id"] == self.client.id else { return .json(["error": "Not Found"], status: 404) }
        guard let secret = form["client_secret"], Secret(text: secret) == self.client.secret else {
            let text = "The client_id and/or client_secret passed are incorrect."
            return self.problem("incorrect_client_credentials", text, request)
        }
        guard let grant = form["code"].flatMap({ self.grants.take($0) }),
            grant.accepts(verifier: form["code_verifier"])
        else {
            return self.problem("bad_verification_code", "The code passed is incorrect or expired.", request)
        }
        guard form["redirect_uri"] == nil || form["redirect_uri"] == grant.redirect else {
            let text = "The redirect_uri MUST match the registered callback URL for this application."
            return self.problem("redirect_uri_mismatch", text, request)
        }
        let token = "gho_\(hexadecimal(self.random.bytes(18)))"
        self.grants.insert(grant, for: token)
        return Self.encoded(
            [("access_token", token), ("scope", grant.scopes.joined(separator: ",")), ("token_type", "bearer")],
            for: request
        )
    }

    private func problem(_ error: String, _ text: String, _ request: DemoRequest) -> DemoResponse {
        let address = "\(Self.documentation)troubleshooting-oauth-app-access-token-request-errors/"
        return Self.encoded([("error", error), ("error_description", text), ("error_uri", address)], for: request)
    }

    /// A form, or JSON if the client asks for it; status 200 for errors as well.
    private static func encoded(_ members: [(String, String)], for request: DemoRequest) -> DemoResponse {
        if request.field("accept")?.contains("application/json") == true {
            return .json(.object(Dictionary(members.map { ($0.0, JSON.string($0.1)) }) { $1 }))
        }
        let body = Form(members.map { Form.Field($0.0, $0.1) }).encoded
        let type = (name: "Content-Type", value: "application/x-www-form-urlencoded; charset=utf-8")
        return DemoResponse(status: 200, fields: [type], body: Array(body.utf8))
    }

    // MARK: API

    private func api(_ request: DemoRequest, _ answer: (DemoGrant) -> JSON?) -> DemoResponse {
        guard request.field("user-agent")?.isEmpty == false else {
            let text =
                "Request forbidden by administrative rules. Please make sure your request has a User-Agent header.\n"
            return .text(text, status: 403)
        }
        guard let grant = self.grants.grant(of: request.bearer) else {
            return Self.message("Bad credentials", status: 401)
        }
        guard let value = answer(grant) else { return Self.message("Not Found", status: 404) }
        let fields = [
            (name: "X-OAuth-Scopes", value: grant.scopes.joined(separator: ", ")),
            (name: "X-Accepted-OAuth-Scopes", value: ""),
            (name: "X-GitHub-Media-Type", value: "github.v3; format=json"),
            (name: "X-RateLimit-Limit", value: "5000"),
            (name: "X-RateLimit-Remaining", value: "4990"),
        ]
        return .json(value, fields: fields)
    }

    /// The status in the body is a string.
    private static func message(_ text: String, status: Int) -> DemoResponse {
        let body: JSON = [
            "message": .string(text), "documentation_url": "https://docs.github.com/rest",
            "status": .string(String(status)),
        ]
        return .json(body, status: status)
    }
}
