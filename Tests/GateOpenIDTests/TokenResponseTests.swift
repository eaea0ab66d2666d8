// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GateOpenID

@Suite struct TokenResponseTests {
    private func response(_ body: String, status: Int = 200) throws(Failure) -> TokenResponse {
        try TokenResponse(ProviderResponse(status: status, body: Array(body.utf8)))
    }

    private func failure(_ body: String, status: Int = 200) -> Failure? {
        do throws(Failure) {
            _ = try self.response(body, status: status)
            return nil
        } catch {
            return error
        }
    }

    @Test func `Google's answer is read`() throws {
        let response = try self.response(
            """
            {"access_token": "ya29.a0EXAMPLEinventedtoken", "expires_in": 3599, "scope": "openid",
             "token_type": "Bearer", "id_token": "a.b.c"}
            """
        )
        #expect(response.accessToken == "ya29.a0EXAMPLEinventedtoken")
        #expect(response.idToken == "a.b.c" && response.lifetime == .seconds(3599))
    }

    @Test func `GitHub's answer is read as JSON and as a form`() throws {
        let json = #"{"access_token":"gho_INVENTED","scope":"read:org,user:email","token_type":"bearer"}"#
        let form = "access_token=gho_INVENTED&scope=read%3Aorg%2Cuser%3Aemail&token_type=bearer"
        for body in [json, form] {
            let response = try self.response(body)
            #expect(response.accessToken == "gho_INVENTED" && response.idToken == nil && response.lifetime == nil)
        }
    }

    @Test(
        arguments: [
            ("3600", 3600), ("\"3600\"", 3600), ("null", nil), ("-1", nil), ("1e9", nil), ("\"soon\"", nil),
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
    func `an answer without one usable bearer token is refused`(body: String) {
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
        (404, #"{"message":"Not Found"}"#, "openid.token_response"), (302, "", "provider.redirected"),
        (201, #"{"access_token":"a","token_type":"bearer"}"#, "openid.token_response"),
    ])
    func `an error is read whatever the status`(status: Int, body: String, code: String) {
        #expect(self.failure(body, status: status)?.code == code)
    }

    @Test func `what the provider says of an error stays one short line`() {
        let description = #"AADSTS70008: expired.\r\nTrace ID: 1\r\n"# + String(repeating: "x", count: 5000)
        let failure = self.failure(#"{"error":"invalid_grant","error_description":"\#(description)"}"#, status: 400)
        #expect(failure?.detail.utf8.allSatisfy { (0x20...0x7E).contains($0) } == true)
        #expect((failure?.detail.utf8.count ?? .max) < 600)
    }
}
