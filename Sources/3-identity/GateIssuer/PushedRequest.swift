// SPDX-License-Identifier: Apache-2.0

package import GateClients
package import GateCore

/// An authorization request that a client has pushed: valid once, for 90 seconds, for that client.
///
/// RFC 9126 §2.2. Its URI is the request itself, sealed, so that nothing is stored before a browser brings it.
package struct PushedRequest: Sendable {
    /// How long a browser may take to bring it.
    package static let lifetime = Duration.seconds(90)
    /// How long the user may take then, to sign in and to consent.
    package static let timeToSignIn = Duration.seconds(1800)
    private static let prefix = "urn:ietf:params:oauth:request_uri:"
    private static let purpose = "client/pushed"
    /// The most bytes of its encoded parameters, so that its URI fits into a URL.
    static let maxForm = 4096

    /// The parameters.
    package let form: Form
    package let client: String
    /// The id that is spent when a browser brings it.
    package let id: String
    package let expires: Instant
    /// The hash of the value that only the browser has which has brought it, so that only the sign-in of its user is pending; nil before.
    package let browser: [UInt8]?

    init(_ form: Form, of client: String, random: RandomBytes, now: Instant) {
        self.form = form
        self.client = client
        self.id = random.token(16)
        self.expires = now.advanced(by: PushedRequest.lifetime)
        self.browser = nil
    }

    private init(_ request: PushedRequest, inUseBy browser: [UInt8], now: Instant) {
        self.form = request.form
        self.client = request.client
        self.id = request.id
        self.expires = now.advanced(by: PushedRequest.timeToSignIn)
        self.browser = browser
    }

    /// Opens the `request_uri` of a request; nil unless this gateway issued it.
    init?(uri: String, by sealer: Sealer) {
        guard PushedRequest.isURI(uri), uri.utf8.count <= 3 * PushedRequest.maxForm,
            let sealed = Base64URL.decode(String(uri.dropFirst(PushedRequest.prefix.count))),
            let plain = sealer.open(sealed, for: PushedRequest.purpose), let json = try? JSON(parsing: plain, depth: 1),
            let form = json["form"]?.string.flatMap({ Form(encoded: $0) }), let client = json["client"]?.string,
            let id = json["id"]?.string, let expires = json["expires"]?.integer
        else { return nil }
        self.form = form
        self.client = client
        self.id = id
        self.expires = Instant(seconds: expires)
        self.browser = json["browser"]?.string.flatMap { Base64URL.decode($0) }
    }

    /// Whether a `request_uri` has the form of those of this gateway.
    static func isURI(_ text: String) -> Bool { text.hasPrefix(self.prefix) }

    package func uri(by sealer: Sealer) -> String {
        var members: [String: JSON] = [
            "form": .string(self.form.encoded), "client": .string(self.client), "id": .string(self.id),
            "expires": .int(self.expires.seconds),
        ]
        members["browser"] = self.browser.map { .string(Base64URL.encode($0)) }
        let sealed = sealer.seal(JSON.object(members).encoded, for: PushedRequest.purpose)
        return PushedRequest.prefix + Base64URL.encode(sealed)
    }

    /// The same request once a browser has brought it: that one may repeat it until the user has signed in.
    ///
    /// RFC 9126 §4 lets a user reload the page; §7.3 asks for one use, so no other browser may.
    package func inUse(by browser: [UInt8], now: Instant) -> PushedRequest {
        PushedRequest(self, inUseBy: browser, now: now)
    }

    /// The parameters by which a browser brings it.
    package func parameters(by sealer: Sealer) -> Form {
        Form([Form.Field("client_id", self.client), Form.Field("request_uri", self.uri(by: sealer))])
    }
}

extension Issuer {
    /// Checks a request that a client pushes as the authorization endpoint would.
    ///
    /// RFC 9126 §2.1.
    ///
    /// - Parameters:
    ///   - form: The parameters, those of the client's authentication among them.
    ///   - client: The client, authenticated.
    ///   - keyThumbprint: The key that the client has proved to have, to which the code is bound then; nil for none.
    ///   - now: The time.
    /// - Returns: The request.
    /// - Throws: What the authorization endpoint would reject it for.
    package func push(
        _ form: Form,
        of client: ClientSettings,
        boundTo keyThumbprint: String? = nil,
        now: Instant
    ) throws(OAuthError) -> PushedRequest {
        guard form.single("request_uri") == .absent else {
            throw OAuthError(.invalidRequest, "a pushed request has no 'request_uri'")
        }
        let own = ["client_id", "client_secret"]
        let fields = form.fields.filter { !own.contains($0.name) } + [Form.Field("client_id", client.id)]
        var pushed = Form(fields)
        if let keyThumbprint {
            // RFC 9449 §10.1.
            switch form.single("dpop_jkt") {
            case .absent: pushed.append("dpop_jkt", keyThumbprint)
            case .value(keyThumbprint): break
            case .value, .repeated: throw DPoPProof.invalid("its key is not that of 'dpop_jkt'")
            }
        }
        guard pushed.encoded.utf8.count <= PushedRequest.maxForm else {
            throw OAuthError(.invalidRequest, "the request has over \(PushedRequest.maxForm) bytes")
        }
        switch self.authorizationRequest(pushed, of: client) {
        case .valid: return PushedRequest(pushed, of: client.id, random: self.random, now: now)
        case .error(let error, _): throw error
        case .untrusted(let why): throw OAuthError(.invalidRequest, why)
        }
    }

    /// The pushed request that a browser brings for the first time, not expired; nil for every other request.
    package func unusedPushedRequest(in form: Form, now: Instant) -> PushedRequest? {
        guard let pushed = self.pushedRequest(in: form), pushed.browser == nil, now < pushed.expires else { return nil }
        return pushed
    }

    /// The pushed request that a form refers to, by the client that pushed it.
    private func pushedRequest(in form: Form) -> PushedRequest? {
        guard let uri = form["request_uri"], let client = form["client_id"],
            let pushed = PushedRequest(uri: uri, by: self.sealer), isIdentical(pushed.client, client)
        else { return nil }
        return pushed
    }

    /// Parses and checks a request at the authorization endpoint, which may refer to one that was pushed.
    ///
    /// RFC 9126 §4: the parameters beside a reference are ignored.
    ///
    /// - Parameters:
    ///   - form: The parameters.
    ///   - browser: The hash of the value that the browser has for its pushed requests; nil if it has none.
    ///   - now: The time.
    /// - Returns: The request, or why it is rejected.
    package func authorizationRequest(in form: Form, by browser: [UInt8]?, now: Instant) -> ParsedAuthorizationRequest {
        guard let pushed = self.pushedRequest(in: form) else {
            let parsed = self.authorizationRequest(form)
            guard case .valid(let request) = parsed, request.client.requiresPushedRequests else { return parsed }
            let help = "the client has 'require_par': push the request to \(self.endpoints.path("par")) (RFC 9126)"
            return .error(OAuthError(.invalidRequest, help), request.target)
        }
        let parsed = self.authorizationRequest(pushed.form)
        guard case .valid(let request) = parsed else { return parsed }
        guard let owner = pushed.browser, owner == browser, now < pushed.expires else {
            return .error(PushedRequest.expired, request.target)
        }
        return parsed
    }
}

extension PushedRequest {
    /// What a request that has expired, or was used before, is rejected with.
    static var expired: OAuthError {
        let limit = self.lifetime.wholeSeconds
        return OAuthError(
            .invalidRequestURI,
            "'request_uri' has expired or was used before; it is valid once, for \(limit) s"
        )
    }
}
