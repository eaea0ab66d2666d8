// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import Testing

/// `gateway.session_api`.
@Suite struct SessionAPITests {
    private static func file(_ api: String, app: String) -> String {
        """
        gateway:
          public_url: https://gate.example.com
          session_api: \(api)
        providers:
          staff: { type: oidc, issuer: "https://id.example.com", client_id: a, client_secret: "${env:CLIENT_SECRET}" }
        apps:
          wiki:
            upstream: http://127.0.0.1:9000
            allow: signed_in
            \(app)
        """
    }

    @Test func `the session API is off by default`() throws {
        #expect(try Fixture.configuration(Fixture.smallest()).gateway.sessionAPI == nil)
    }

    @Test(arguments: [
        ("/auth", "path: /"), ("/auth/", "path: /"), ("/auth", "path: /authors"), ("/auth/api", "path: /auth"),
        ("/auth", "host: wiki.example.com"), ("/auth", "host: wiki.example.com\n    path: /auth"),
    ])
    func `an app on another host or at another path does not collide with it`(api: String, app: String) throws {
        let read = try Fixture.configuration(Self.file(api, app: app)).gateway.sessionAPI
        #expect(read == (api.hasSuffix("/") ? String(api.dropLast()) : api))
    }

    @Test(arguments: ["path: /auth", "path: /auth/login", "{ path: /auth, host: gate.example.com }"])
    func `an app at its path on the host of public_url is an error with both lines`(app: String) {
        let lines = app.hasPrefix("{") ? "host: gate.example.com\n    path: /auth" : app
        let result = Fixture.parse(Self.file("/auth", app: lines))
        let line = app.hasPrefix("{") ? 11 : 10
        #expect(result.diagnostics.map(\.location?.line) == [3])
        #expect(
            result.diagnostics.map(\.message)
                == ["'/auth' has the app 'wiki' in line \(line) already; choose another path for one of them"]
        )
    }

    @Test(arguments: [
        ("/", "'session_api' cannot be '/'"), ("/oauth2", "is reserved for the gateway"),
        ("/oauth2/api", "is reserved for the gateway"),
        ("auth", "is not a path"), ("/auth?x", "has a query or fragment"), ("/a%2Fb", "has an escaped slash"),
        ("/auth/*", "has a '*'"),
    ])
    func `a prefix that an app could not have is an error`(api: String, message: String) {
        let messages = Fixture.messages(Self.file(api, app: "path: /"))
        #expect(messages.count == 1 && messages.first?.contains(message) == true, "\(messages)")
    }
}
