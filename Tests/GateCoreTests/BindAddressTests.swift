// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@Suite struct BindAddressTests {
    @Test(
        arguments: [
            ("127.0.0.1:9901", "127.0.0.1", 9901), ("[::1]:443", "::1", 443), ("localhost:0", "localhost", 0),
            ("0.0.0.0:65535", "0.0.0.0", 65_535),
        ])
    func `an address to listen on is a host and a port, IPv6 in brackets`(text: String, host: String, port: Int) {
        #expect(BindAddress(text) == BindAddress(host: host, port: port))
        #expect(BindAddress(text)?.description == text)
    }

    @Test(arguments: [
        "", ":80", "80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "::1:80", "[::1]", "[::g]:80", "a b:80", "h:-1",
    ])
    func `a text without host or port is not an address to listen on`(text: String) {
        #expect(BindAddress(text) == nil)
    }

    @Test(
        arguments: [
            ("127.0.0.1:80", "127.0.0.1:80", true), ("0.0.0.0:80", "10.0.0.1:80", true), ("[::]:80", "[::1]:80", true),
            ("127.0.0.1:80", "127.0.0.2:80", false), ("127.0.0.1:80", "127.0.0.1:81", false),
            ("127.0.0.1:0", "127.0.0.1:0", false),
        ])
    func `two addresses collide when one port would be taken twice`(one: String, other: String, collide: Bool) throws {
        let first = try #require(BindAddress(one))
        let second = try #require(BindAddress(other))
        #expect(first.collides(with: second) == collide)
        #expect(second.collides(with: first) == collide)
    }
}
