// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GatePolicy
import Testing

/// `gateway.endpoint_prefix` (N-03).
@Suite struct EndpointPrefixTests {
    private static let prefix = "  endpoint_prefix: /gate/in"

    @Test func `endpoints are below oauth2 unless the file has another prefix`() throws {
        #expect(try Fixture.configuration(Fixture.smallest()).gateway.endpoints == .standard)
        let moved = try Fixture.configuration(Fixture.smallest(gateway: Self.prefix)).gateway
        #expect("\(moved.endpoints)" == "/gate/in")
        #expect(moved.callback(of: "staff") == "https://gate.example.com/gate/in/callback/staff")
    }

    @Test(arguments: ["/", "gate", "/gate/", "/../gate", "/gate%20", "/.well-known/gate", "'/gate?x'"])
    func `a path that is not a prefix is an error that states what one is`(text: String) {
        let messages = Fixture.messages(Fixture.smallest(gateway: "  endpoint_prefix: \(text)"))
        #expect(messages.count == 1 && messages.first?.contains("is not a prefix of endpoints") == true, "\(messages)")
    }

    @Test(arguments: ["/gate/in", "/gate/in/", "/gate/in/app"])
    func `no app has a path of the endpoints`(path: String) {
        let messages = Fixture.messages(Fixture.smallest(gateway: Self.prefix, app: "    path: \(path)"))
        #expect(
            messages.count == 1 && messages.first?.hasSuffix("choose a path outside of /gate/in") == true,
            "\(messages)"
        )
    }

    @Test(arguments: ["session_api", "health_path"])
    func `no other part of the gateway has one`(key: String) {
        let messages = Fixture.messages(Fixture.smallest(gateway: "\(Self.prefix)\n  \(key): /gate/in/x"))
        #expect(messages.count == 1 && messages.first?.contains("is reserved for the gateway") == true, "\(messages)")
    }

    @Test func `endpoints below the session API would never be reached`() {
        let messages = Fixture.messages(Fixture.smallest(gateway: "\(Self.prefix)\n  session_api: /gate"))
        #expect(messages.count == 1 && messages.first?.contains("is below 'session_api'") == true, "\(messages)")
    }

    @Test func `an app may have the paths that the endpoints have left`() throws {
        let file = Fixture.smallest(
            gateway: Self.prefix,
            app: "    path: /oauth2/authorize\n    public: [/oauth2/authorize/x]"
        )
        let configuration = try Fixture.configuration(file)
        #expect(configuration.apps.first?.route.path == "/oauth2/authorize" && configuration.ownPathRemarks.isEmpty)
    }

    @Test func `an app whose path has the endpoints below it is remarked`() throws {
        let remarks = try Fixture.configuration(Fixture.smallest(gateway: Self.prefix, app: "    path: /gate"))
            .ownPathRemarks
        #expect(remarks.count == 1 && remarks.first?.contains("'/gate/in' is the gateway's own") == true, "\(remarks)")
    }
}
