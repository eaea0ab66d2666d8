// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GateWire

/// Which paths are the gateway's own, and which those of apps (N-03).
@Suite struct OwnPathTests {
    @Test(arguments: [
        "/oauth2", "/oauth2/", "/oauth2/authorize", "/oauth2/anything/else", "/oauth2//x", "/oauth2/auth",
    ])
    func `on the host of public_url all paths below oauth2 are the gateway's`(path: String) {
        #expect(OwnPath.includes(path, isGatewayHost: true))
    }

    @Test func `on the host of an app only endpoints are, with what follows them`() {
        for name in OwnPath.names {
            for rest in ["", "/", "/x", "/x/y"] {
                #expect(OwnPath.includes("/oauth2/\(name)\(rest)", isGatewayHost: false), "\(name)\(rest)")
            }
            #expect(!OwnPath.includes("/oauth2/\(name)x", isGatewayHost: false))
            #expect(!OwnPath.includes("/oauth2//\(name)", isGatewayHost: false))
        }
    }

    @Test(arguments: [
        "/oauth2", "/oauth2/", "/oauth2/authorize", "/oauth2/callback/x", "/oauth2/token", "/oauth2/AUTH",
        "/oauth2/auth.x",
        "/oauth2/a-name-that-is-longer-than-any-of-ours/auth",
    ])
    func `other paths below oauth2 are those of an app on its host`(path: String) {
        #expect(!OwnPath.includes(path, isGatewayHost: false))
    }

    @Test(arguments: ["/", "/oauth", "/oauth2x", "/oauth2x/auth", "/x/oauth2/auth", "", "/OAuth2/auth"])
    func `a path outside of oauth2 is never the gateway's`(path: String) {
        #expect(!OwnPath.includes(path, isGatewayHost: true) && !OwnPath.includes(path, isGatewayHost: false))
    }
}
