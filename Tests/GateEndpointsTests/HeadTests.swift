// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateFixtures
import GateHTTP
import GateWire
import HTTPTypes
import Testing

@testable import GateEndpoints

/// F-10, RFC 9110 §9.1: where `GET` gets a response, `HEAD` gets the same.
@Suite struct HeadTests {
    @Test(arguments: EndpointPath.allCases)
    func `an endpoint that takes GET takes HEAD`(path: EndpointPath) throws {
        let methods = try #require(Endpoint.all[path]).methods
        #expect(methods.contains(.head) == methods.contains(.get))
    }

    @Test(arguments: EndpointPath.allCases.filter { $0 != .auth })
    func `HEAD gets the status and the fields of GET`(path: EndpointPath) async throws {
        for subject in [nil, "ada"] {
            let gateway = try GatewayFixture()
            let provider = Endpoint.all[path]?.suffix == .provider ? "/staff" : ""
            let address = "https://\(GatewayFixture.gate)/oauth2/\(path.rawValue)\(provider)"
            var found: [(status: Int, type: String?, allow: String?)] = []
            for method in ["GET", "HEAD"] {
                let browser = Browser(gateway)
                if subject != nil { try await browser.open(try await browser.begin("staff")) }
                let response = try await browser.open(address, method: method)
                let fields = response.head.headerFields
                found.append((response.status, fields[.contentType], fields[.allow]))
            }
            #expect(found[0] == found[1], "\(path.rawValue)")
        }
    }
}
