// SPDX-License-Identifier: Apache-2.0

import GateAssertion
import GateCore
import GateEndpoints
import GateFixtures
import GateHTTP
import GateHeaders
import GateOperations
import GateSessions
import GateTestSupport
import HTTPTypes
import Testing

@testable import GateRuntime

private let gate = "https://gate.example.com"
private let sessionCookie = "__Host-gatehouse"

@Suite struct OtherEndpointTests {
    @Test func `no client gets a decision where no proxy may ask`() async throws {
        let response = try await Browser(try GatewayFixture()).open("\(gate)/oauth2/auth", "Accept: */*\r\n")
        #expect(response.status == 403 && response.code == "forward_auth.peer")
    }

    @Test func `the keys are published with a tag`() async throws {
        let gateway = try GatewayFixture()
        let response = try await Browser(gateway).open("\(gate)/oauth2/jwks.json")
        let keys = try JSON(parsing: response.body)["keys"]?.array
        #expect(keys?.count == 1 && keys?.first?["kid"]?.string == gateway.runtime.keys.signing.id)
        #expect(keys?.first?["d"] == nil && response.head.headerFields[.eTag] == gateway.runtime.keys.entityTag)
    }

    @Test(arguments: ["", "/", "/nothing", "/auth/x", "/SIGN_IN", "/sign_in2"])
    func `other addresses below ours are nothing`(path: String) async throws {
        let response = try await Browser(try GatewayFixture()).open("\(gate)/oauth2\(path)", "Accept: */*\r\n")
        #expect(response.status == 404 && response.code == "endpoint.none")
    }

    @Test(arguments: ["sign_in", "start/staff", "token-keys.json", "handover", "jwks.json", "style.css"])
    func `an address takes its own methods only`(name: String) async throws {
        let response = try await Browser(try GatewayFixture()).open(
            "\(gate)/oauth2/\(name)",
            method: "POST",
            "Accept: */*\r\n"
        )
        #expect(response.status == 405 && response.code == "endpoint.method")
    }
}
