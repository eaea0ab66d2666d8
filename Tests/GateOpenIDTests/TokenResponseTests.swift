// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProviders
import GateTestSupport
import Testing

@testable import GateOpenID

@Suite struct TokenResponseTests {
    private static let advice = ClientAdvice(method: .secretPost, redirectURI: ProviderFixture.callback)

    private func response(
        _ body: String,
        status: Int = 200,
        _ headers: [(name: String, value: String)] = []
    ) throws(Failure) -> TokenResponse {
        let response = ProviderResponse(status: status, headers: headers, body: Array(body.utf8))
        return try TokenResponse(response, advice: Self.advice)
    }

    private func failure(
        _ body: String,
        status: Int = 200,
        _ headers: [(name: String, value: String)] = []
    ) -> Failure? {
        do throws(Failure) {
            _ = try self.response(body, status: status, headers)
            return nil
        } catch {
            return error
        }
    }

    @Test func `Google's response is read`() throws {
        let response = try self.response(
            """
            {"access_token": "ya29.a0EXAMPLEinventedtoken", "expires_in": 3599, "scope": "openid",
             "token_type": "Bearer", "id_token": "a.b.c"}
            """
        )
        #expect(response.accessToken == "ya29.a0EXAMPLEinventedtoken")
        #expect(response.idToken == "a.b.c" && response.lifetime == .seconds(3599))
    }

    @Test func `GitHub's response is read as JSON and as a form`() throws {
        let json = #"{"access_token":"gho_INVENTED","scope":"read:org,user:email","token_type":"bearer"}"#
        let form = "access_token=gho_INVENTED&scope=read%3Aorg%2Cuser%3Aemail&token_type=bearer"
        for body in [json, form] {
            let response = try self.response(body)
            #expect(response.accessToken == "gho_INVENTED" && response.idToken == nil && response.lifetime == nil)
        }
    }

    @Test(
        arguments: [
            ("3600", 3600), ("\"3600\"", 3600), ("3599.9", 3599), ("\"3600.0\"", 3600), ("0", 0), ("null", nil),
            ("\"\"", nil),
            ("\"nan\"", nil), ("\"0x10\"", nil), ("\"-1\"", nil), ("[3600]", nil), ("1e300", nil), ("315360001", nil),
            ("-1", nil), ("1e9", nil), ("\"soon\"", nil),
            ("99999999999999999999", nil),
        ] as [(String, Int64?)]
    )
    func `a lifetime is a number, a text or missing`(value: String, seconds: Int64?) throws {
        let response = try self.response(#"{"access_token":"a","token_type":"bearer","expires_in":\#(value)}"#)
        #expect(response.lifetime == seconds.map { .seconds($0) })
    }

    @Test(arguments: ["Bearer", "bearer", "BEARER"])
    func `the type is bearer in any case of letters`(type: String) throws {
        #expect(try self.response(#"{"access_token":"a","token_type":"\#(type)"}"#).accessToken == "a")
    }

    @Test(arguments: [
        #"{"access_token":"a","token_type":"mac"}"#, #"{"access_token":"a"}"#, #"{"token_type":"bearer"}"#,
        #"{"access_token":"","token_type":"bearer"}"#, #"{"access_token":1,"token_type":"bearer"}"#, "", "{}", "[]",
        "<OAuth><access_token>a</access_token></OAuth>", "{\"access_token\":\"a\\r\\nX: y\",\"token_type\":\"bearer\"}",
        #"{"access_token":"a","access_token":"b","token_type":"bearer"}"#,
        "access_token=a&access_token=b&token_type=bearer", "access_token=%FF&token_type=bearer",
    ])
    func `a response without one usable bearer token is rejected`(body: String) {
        #expect(self.failure(body)?.kind == .providerFailed)
    }

    @Test(arguments: [
        (
            200, #"{"error":"bad_verification_code","error_description":"The code passed is incorrect or expired."}"#,
            "openid.code_refused"
        ),
        (400, #"{"error":"invalid_grant","error_description":"Bad Request"}"#, "openid.code_refused"),
        (401, #"{"error":"invalid_client"}"#, "openid.client_refused"),
        (200, "error=incorrect_client_credentials&error_description=x", "openid.client_refused"),
        (503, #"{"error":"temporarily_unavailable"}"#, "provider.unavailable"),
        (500, "<html>", "provider.unavailable"), (429, "", "provider.unavailable"),
        (404, #"{"message":"Not Found"}"#, "openid.token_response"),
        (404, #"{"error":"Not Found"}"#, "openid.client_refused"), (302, "", "provider.redirected"),
        (201, #"{"access_token":"a","token_type":"bearer"}"#, "openid.token_response"),
    ])
    func `an error is read whatever the status`(status: Int, body: String, code: String) {
        #expect(self.failure(body, status: status)?.code == code)
    }

    @Test func `the provider's description of an error stays one short line`() {
        let description = #"AADSTS70008: expired.\r\nTrace ID: 1\r\n"# + String(repeating: "x", count: 5000)
        let failure = self.failure(#"{"error":"invalid_grant","error_description":"\#(description)"}"#, status: 400)
        #expect(failure?.detail.utf8.allSatisfy { (0x20...0x7E).contains($0) } == true)
        #expect((failure?.detail.utf8.count ?? .max) < 600)
    }

    @Test(arguments: [
        // Facebook's code that was used, and its wrong secret.
        (
            400, #"{"error":{"message":"used","type":"OAuthException","code":100,"error_subcode":36009}}"#,
            "openid.code_refused"
        ),
        (
            400, #"{"error":{"message":"Error validating client secret.","type":"OAuthException","code":1}}"#,
            "openid.client_refused"
        ),
        (400, #"{"error":{"message":"try later","type":"OAuthException","code":2}}"#, "provider.unavailable"),
        // Microsoft Graph.
        (400, #"{"error":{"code":"invalid_grant","message":"AADSTS70008"}}"#, "openid.code_refused"),
        // Slack.
        (200, #"{"ok":false,"error":"invalid_code"}"#, "openid.code_refused"),
        (200, #"{"ok":false,"error":"bad_client_secret"}"#, "openid.client_refused"),
        (200, #"{"ok":false,"error":"ratelimited"}"#, "provider.unavailable"),
        (200, #"{"ok":false,"access_token":"a","token_type":"bearer"}"#, "openid.client_refused"),
        // Okta's API, and its limit.
        (401, #"{"errorCode":"E0000011","errorSummary":"Invalid token"}"#, "openid.client_refused"),
        (429, #"{"errorCode":"E0000047","errorSummary":"limit"}"#, "provider.unavailable"),
        // Auth0: a wrong code with 403, a wrong secret with 401, a rule that refuses with 403.
        (403, #"{"error":"invalid_grant","error_description":"Invalid authorization code"}"#, "openid.code_refused"),
        (401, #"{"error":"access_denied","error_description":"Unauthorized"}"#, "openid.client_refused"),
        (403, #"{"error":"access_denied","error_description":"not here"}"#, "provider.denied"),
        (200, #"{"error":"unverified_user_email"}"#, "provider.denied"),
        (401, "", "openid.client_refused"), (500, #"{"error":"surprise"}"#, "provider.unavailable"),
        (200, #"{"error":7,"access_token":"a","token_type":"bearer"}"#, "openid.client_refused"),
        (200, "\u{FEFF}{\"error\":\"invalid_grant\"}", "openid.code_refused"),
    ])
    func `an error is read in the shape of every provider`(status: Int, body: String, code: String) {
        #expect(self.failure(body, status: status)?.code == code)
    }

    @Test(arguments: ["null", "false", #""""#])
    func `an empty error does no harm`(error: String) throws {
        let body = #"{"access_token":"a","token_type":"bearer","ok":true,"error":\#(error)}"#
        #expect(try self.response(body).accessToken == "a")
    }

    @Test func `a byte order mark and white space before a response do no harm, XML is named`() throws {
        #expect(try self.response("\u{FEFF} \n{\"access_token\":\"a\",\"token_type\":\"bearer\"}").accessToken == "a")
        let failure = self.failure("<OAuth><access_token>a</access_token></OAuth>")
        #expect(failure?.reason == .openIDTokenResponse && failure?.detail.contains("XML") == true)
        #expect(self.failure("<p>access_token=a&token_type=bearer")?.code == "openid.token_response")
    }

    @Test(
        arguments: [
            (#""openid email""#, ["openid", "email"]), (#""read:org,user:email""#, ["read:org", "user:email"]),
            (#""a, b  c""#, ["a", "b", "c"]), (#""""#, []), ("null", nil), ("1", nil),
            (#"["a","b c",1]"#, ["a", "b", "c"]),
            (#""a\r\nb c""#, ["c"]),
        ] as [(String, [String]?)]
    )
    func `granted scopes are parted by spaces or commas`(scope: String, scopes: [String]?) throws {
        #expect(try self.response(#"{"access_token":"a","token_type":"bearer","scope":\#(scope)}"#).scopes == scopes)
    }

    @Test func `however many scopes are granted, some hundred are kept`() throws {
        let many = (0..<5000).map { "s\($0)" }.joined(separator: " ")
        #expect(
            try self.response(#"{"access_token":"a","token_type":"bearer","scope":"\#(many)"}"#).scopes?.count == 256
        )
    }

    @Test(
        arguments: [
            ("application/json", #"{"access_token":"a","token_type":"bearer"}"#, true),
            ("Application/JSON; charset=utf-8", " \n{\"access_token\":\"a\",\"token_type\":\"bearer\"}", true),
            ("text/html", #"{"access_token":"a","token_type":"bearer"}"#, false),
            ("text/plain", #"{"access_token":"a","token_type":"bearer"}"#, false),
            (nil, #"{"access_token":"a","token_type":"bearer"}"#, false),
            ("application/x-www-form-urlencoded", "access_token=a&token_type=bearer", false),
            ("application/json", "access_token=a&token_type=bearer", false),
        ] as [(String?, String, Bool)]
    )
    func `W-08: an OpenID provider sends its tokens as JSON and nothing else`(
        type: String?,
        body: String,
        isTaken: Bool
    ) throws {
        let headers = type.map { [(name: "Content-Type", value: $0)] } ?? []
        let response = ProviderResponse(status: 200, headers: headers, body: Array(body.utf8))
        do throws(Failure) {
            let read = try TokenResponse(response, advice: Self.advice, takesForms: false)
            #expect(isTaken && read.accessToken == "a")
        } catch {
            #expect(!isTaken && error.reason == .openIDTokenResponse)
            #expect(error.detail.contains("expected a JSON object"))
        }
        #expect(try TokenResponse(response, advice: Self.advice).accessToken == "a")
    }

    @Test func `W-10: unauthorized_client may be a wrong secret as well as a missing grant`() {
        let detail = self.failure(#"{"error":"unauthorized_client"}"#, status: 400)?.detail ?? ""
        #expect(detail.contains("client_secret") && detail.contains("code flow"))
        let grant = self.failure(#"{"error":"unsupported_grant_type"}"#, status: 400)?.detail ?? ""
        #expect(!grant.contains("client_secret") && grant.contains("code flow"))
    }

    @Test func `a rejection of the gateway itself names what to check`() {
        let secret = self.failure(#"{"error":"invalid_client"}"#, status: 401)
        #expect(secret?.detail.contains("client_secret (client_secret_post)") == true)
        let redirect = self.failure(#"{"error":"redirect_uri_mismatch"}"#)
        #expect(
            redirect?.code == "openid.client_refused" && redirect?.detail.contains(ProviderFixture.callback) == true
        )
        let challenge = self.failure("", status: 401, [(name: "WWW-Authenticate", value: "Basic realm=\"id\"")])
        #expect(challenge?.code == "openid.client_refused" && challenge?.detail.contains("realm") == true)
    }

    @Test func `the retry time of an overloaded provider is kept`() {
        let failure = self.failure("", status: 429, [(name: "Retry-After", value: "30\r\nX: y")])
        #expect(failure?.reason == .providerUnavailable && failure?.detail.contains("Retry-After \"30") == true)
        #expect(failure?.detail.contains("\n") == false)
    }

    @Test(arguments: HostileNumbers.json) func `B-05: any number is a lifetime of at most ten years, or none`(
        text: String
    )
        throws
    {
        let seconds = try #require(Double(text))
        for value in [text, "\"\(text)\""] {
            let lifetime = try self.response(#"{"access_token":"a","token_type":"bearer","expires_in":\#(value)}"#)
                .lifetime
            guard let lifetime else { continue }
            #expect(seconds >= 0 && lifetime >= .zero && lifetime <= .seconds(315_360_000), "\(value)")
        }
    }

    @Test(arguments: HostileNumbers.texts) func `B-05: any number in a header of a provider is a time within bounds`(
        text: String
    ) {
        for headers in [[("Cache-Control", "max-age=\(text)")], [("Cache-Control", "max-age=600"), ("Age", text)]] {
            let response = ProviderResponse(status: 200, headers: headers.map { (name: $0.0, value: $0.1) })
            #expect(response.documentLifetime >= .seconds(300) && response.documentLifetime <= .seconds(86_400))
        }
        let wait = ProviderResponse(status: 429, headers: [(name: "Retry-After", value: text)]).retryAfter
        #expect(wait.map { $0 > .zero && $0 <= .seconds(300) } ?? true)
    }
}
