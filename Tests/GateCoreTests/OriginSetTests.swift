// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@Suite struct OriginSetTests {
    private func origins(_ hosts: HostPattern..., port: Int? = nil) throws -> OriginSet {
        OriginSet(try #require(Origin(scheme: "https", host: "gate.example.com", port: port)), hosts: hosts)
    }

    @Test func `without a host an app has that of the gateway`() throws {
        let origins = try self.origins()
        #expect(origins.hosts == [.exact("gate.example.com")])
        #expect(origins.name == "https://gate.example.com" && origins.first?.description == origins.name)
    }

    @Test(
        arguments: [
            ("a.example.com", true), ("b.example.com", true), ("x.apps.example.com", true), ("apps.example.com", false),
            ("y.x.apps.example.com", false), ("xapps.example.com", false), ("x.apps.example.com.attacker.net", false),
            ("com", false), ("", false), ("[::1]", false),
        ]
    )
    func `a wildcard is every host one label below its domain, and no other`(host: String, isIn: Bool) throws {
        let origins = try self.origins(.exact("a.example.com"), .wildcard("apps.example.com"), .exact("b.example.com"))
        #expect(origins.contains(host) == isIn)
    }

    @Test(arguments: [(nil, ""), (8443, ":8443")] as [(Int?, String)])
    func `each host is an origin of its own, with the port of the gateway`(port: Int?, text: String) throws {
        let origins = try self.origins(.exact("a.example.com"), .wildcard("apps.example.com"), port: port)
        #expect(origins.text(of: "x.apps.example.com") == "https://x.apps.example.com\(text)")
        #expect(origins.authority(of: "x.apps.example.com") == "x.apps.example.com\(text)")
        let only = try self.origins(.exact("a.example.com"), port: port)
        #expect(only.text(of: "a.example.com") == "https://a.example.com\(text)")
        #expect(only.authority(of: "a.example.com") == "a.example.com\(text)")
    }

    @Test func `the name is the first host of the file, the first origin the first that can be opened`() throws {
        let origins = try self.origins(.wildcard("apps.example.com"), .exact("b.example.com"), .exact("a.example.com"))
        #expect(origins.name == "https://*.apps.example.com")
        #expect(origins.first?.description == "https://b.example.com")
        #expect(try self.origins(.wildcard("apps.example.com")).first == nil)
    }

    @Test func `sets are equal if hosts, scheme and port are`() throws {
        let one = try self.origins(.exact("a.example.com"), .exact("b.example.com"))
        let same = try self.origins(.exact("a.example.com"), .exact("b.example.com"))
        #expect(one == same && one.hashValue == same.hashValue)
        #expect(try one != self.origins(.exact("b.example.com"), .exact("a.example.com")))
        #expect(try one != self.origins(.exact("a.example.com"), .exact("b.example.com"), port: 8443))
    }
}
