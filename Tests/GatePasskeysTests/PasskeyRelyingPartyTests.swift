// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GatePasskeys

@Suite struct PasskeyRelyingPartyTests {
    private func origin(_ scheme: String, _ host: String, _ port: Int? = nil) throws -> Origin {
        try #require(Origin(scheme: scheme, host: host, port: port))
    }

    @Test func `origins are allowed as browsers spell them`() throws {
        let origins = [try self.origin("https", "example.com"), try self.origin("https", "a.b.example.com", 8443)]
        let party = try PasskeyRelyingParty(id: "example.com", name: "Example", origins: origins)
        #expect(party.allows(origin: "https://example.com"))
        #expect(party.allows(origin: "https://a.b.example.com:8443"))
        #expect(!party.allows(origin: "https://a.b.example.com"))
        #expect(!party.allows(origin: "https://example.com:443"))
        #expect(!party.allows(origin: "https://b.example.com"))
    }

    @Test func `WebAuthn §5.1.3: the RP ID is the host of each origin, or above it`() throws {
        for host in ["example.org", "notexample.com", "com", "example.com.evil.example"] {
            #expect(throws: PasskeyError.originOutside("https://\(host)", relyingPartyID: "example.com")) {
                try PasskeyRelyingParty(id: "example.com", name: "x", origins: [try self.origin("https", host)])
            }
        }
        #expect(throws: PasskeyError.originsMissing) {
            try PasskeyRelyingParty(id: "example.com", name: "x", origins: [])
        }
    }

    @Test func `an origin is https, or on this machine`() throws {
        #expect(throws: PasskeyError.originNotSecure("http://example.com")) {
            try PasskeyRelyingParty(id: "example.com", name: "x", origins: [try self.origin("http", "example.com")])
        }
        let origins = [try self.origin("http", "localhost", 8080), try self.origin("http", "app.localhost")]
        let party = try PasskeyRelyingParty(id: "localhost", name: "x", origins: origins)
        #expect(party.allows(origin: "http://localhost:8080"))
    }

    @Test(
        arguments: [
            "", "Example.com", "example.com.", "127.0.0.1", "[::1]", "::1", "1.2.3", "https://example.com",
            "example.com:443",
            "exa mple.com", "\u{212A}example.com", "*.example.com",
        ]
    )
    func `an RP ID is a host name in normal form`(id: String) throws {
        let origin = try self.origin("https", "example.com")
        #expect(throws: PasskeyError.relyingPartyID(id)) {
            try PasskeyRelyingParty(id: id, name: "x", origins: [origin])
        }
    }

    @Test(arguments: [(0, false), (15, false), (16, true), (64, true), (65, false)])
    func `WebAuthn §13.4.3: a challenge has at least 16 bytes`(count: Int, isValid: Bool) throws {
        let bytes = [UInt8](repeating: 0, count: count)
        if isValid {
            #expect(try PasskeyChallenge(bytes).text == Base64URL.encode(bytes))
        } else {
            #expect(throws: PasskeyError.challengeLength(count)) { try PasskeyChallenge(bytes) }
        }
    }
}
