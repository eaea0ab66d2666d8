// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateWire
import Testing

/// Which paths are the gateway's own, and which those of apps (N-03).
@Suite struct OwnPathsTests {
    @Test(arguments: [
        "/oauth2", "/oauth2/", "/oauth2/authorize", "/oauth2/anything/else", "/oauth2//x", "/oauth2/auth",
    ])
    func `on the host of public_url all paths below oauth2 are the gateway's`(path: String) {
        #expect(EndpointPrefix.standard.owns(path, isGatewayHost: true))
    }

    @Test func `on the host of an app only endpoints are, with what follows them`() {
        for name in EndpointPrefix.names {
            for rest in ["", "/", "/x", "/x/y"] {
                #expect(EndpointPrefix.standard.owns("/oauth2/\(name)\(rest)", isGatewayHost: false), "\(name)\(rest)")
            }
            #expect(!EndpointPrefix.standard.owns("/oauth2/\(name)x", isGatewayHost: false))
            #expect(!EndpointPrefix.standard.owns("/oauth2//\(name)", isGatewayHost: false))
        }
    }

    @Test(arguments: [
        "/oauth2", "/oauth2/", "/oauth2/authorize", "/oauth2/callback/x", "/oauth2/token", "/oauth2/AUTH",
        "/oauth2/auth.x",
        "/oauth2/a-name-that-is-longer-than-any-of-ours/auth",
    ])
    func `other paths below oauth2 are those of an app on its host`(path: String) {
        #expect(!EndpointPrefix.standard.owns(path, isGatewayHost: false))
    }

    @Test(arguments: [
        "/oauth2", "/oauth2/auth", "/oauth2/sign_in", "/gate", "/gate/auth", "/gate/inx/auth", "/gate/in",
        "/gate/in/authorize",
    ])
    func `with another prefix these paths are those of an app on its host`(path: String) throws {
        let moved = try #require(EndpointPrefix("/gate/in"))
        #expect(!moved.owns(path, isGatewayHost: false))
        let isBelow = path == "/gate/in" || path.hasPrefix("/gate/in/")
        #expect(moved.owns(path, isGatewayHost: true) == isBelow)
    }

    @Test func `with another prefix the same endpoints are the gateway's below it`() throws {
        let moved = try #require(EndpointPrefix("/gate/in"))
        for name in EndpointPrefix.names { #expect(moved.owns("/gate/in/\(name)/x", isGatewayHost: false), "\(name)") }
    }

    @Test(arguments: ["/", "/oauth", "/oauth2x", "/oauth2x/auth", "/x/oauth2/auth", "", "/OAuth2/auth"])
    func `a path outside of oauth2 is never the gateway's`(path: String) {
        #expect(
            !EndpointPrefix.standard.owns(path, isGatewayHost: true)
                && !EndpointPrefix.standard.owns(path, isGatewayHost: false)
        )
    }
}
