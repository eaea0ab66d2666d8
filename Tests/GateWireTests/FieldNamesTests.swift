// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import GateWire

@Suite struct FieldNamesTests {
    private static let managed = [
        "X-Forwarded-User", "X-Forwarded-Email", "X-Forwarded-Name", "X-Forwarded-Groups", "X-Forwarded-Provider",
        "X-Forwarded-Preferred-Username", "X-Forwarded-Uri", "X-Forwarded-Port", "X-Forwarded-Prefix",
        "X-Forwarded-Server", "X-Gatehouse-Assertion", "X-Gatehouse-Anything", "X-Auth-Request-User", "X-Original-Url",
        "X-Rewrite-Url", "X-Envoy-Original-Path", "X-Real-Ip", "X-Client-Ip", "True-Client-Ip", "Cf-Connecting-Ip",
        "Remote-User", "Remote-Groups", "X-Webauth-User", "X-User", "X-Remote-User", "Front-End-Https",
        // whole families of other gateways, clouds and client certificates.
        "X-Webauth-Role", "X-Remote-Groups", "X-Auth-Username", "X-Auth-Roles", "X-Authenticated-User",
        "X-Goog-Authenticated-User-Email", "X-Goog-Iap-Jwt-Assertion", "X-Amzn-Oidc-Identity",
        "X-Ms-Client-Principal", "X-Ms-Client-Principal-Name", "X-Pomerium-Claim-Email", "X-Pomerium-Jwt-Assertion",
        "Cf-Access-Jwt-Assertion", "Cf-Access-Authenticated-User-Email", "X-Authentik-Username", "X-Vouch-User",
        "Tailscale-User-Login", "X-SSL-Client-S-Dn", "SSL-Client-Verify", "X-Client-Cert", "X-Client-Cert-Dn",
        "Remote-Name", "Proxy", "X-Forwarded", "X-Host", "X-Username", "X-User-Id", "X-Role",
        "X-Scheme", "X-Url-Scheme",
        // names by which servers take another path than that of the request line.
        "X-Script-Name", "Script-Name", "Path-Info", "X-Override-Url", "X-Waws-Unencoded-Url", "X-Accel-Mapping",
        "X-Sendfile-Type", "X-Middleware-Subrequest",
    ]

    /// Names are compared eight bytes at a time, of which the last overlap others; no prefix of ours begins with `k7`.
    @Test(arguments: 1...26) func `a name that an app reads is found in any letter case, and no other one`(length: Int)
    {
        let name = String("k7-abcdefghijklmnopqrstuvwx".prefix(length))
        let names = FieldNames(alsoManaged: [name])
        for spelling in FieldNamesTests.spellings(name) { #expect(names.meaning(of: spelling) == .managed) }
        for place in 0..<length {
            var bytes = Array(name.utf8)
            bytes[place] = bytes[place] == UInt8(ascii: "z") ? UInt8(ascii: "y") : UInt8(ascii: "z")
            guard bytes[0] == UInt8(ascii: "k") else { continue }
            let isFamily = length > 3 && place > 2
            #expect(names.meaning(of: String(decoding: bytes, as: UTF8.self)) == (isFamily ? .managed : .other))
        }
        #expect(FieldNames.response.meaning(of: name) == .other)
    }

    /// Names of over 16 bytes have some that are neither of the first nor of the last word, and no family matches in their place.
    @Test(arguments: ["transfer-encoding", "proxy-authorization", "abcdefghijklmnopqrstuvwxyz"])
    func `every byte of a long name counts`(name: String) {
        let names = FieldNames(alsoManaged: ["abcdefghijklmnopqrstuvwxyz"])
        let meaning = names.meaning(of: name)
        #expect(meaning != .other)
        for place in 0..<name.utf8.count {
            var bytes = Array(name.utf8)
            bytes[place] = UInt8(ascii: "0")
            let found = names.meaning(of: String(decoding: bytes, as: UTF8.self))
            #expect(found != meaning, "\(name) with another byte at \(place)")
        }
    }

    /// In a head other bytes follow a name, and in a field of HTTP/2 none does.
    @Test(arguments: 1...26) func `what is around a name does not count`(length: Int) {
        let name = String("k7-abcdefghijklmnopqrstuvwx".prefix(length))
        let names = FieldNames(alsoManaged: [name])
        for before in 0...9 {
            for after in 0...17 {
                for spelling in FieldNamesTests.spellings(name) {
                    let bytes = Array(String(repeating: "Z", count: before).utf8) + Array(spelling.utf8)
                    let text = bytes + Array(": Zz-9\r\nZzzzzzzzzzz".utf8.prefix(after))
                    #expect(names.meaning(of: text.span, in: before..<bytes.count) == .managed)
                    guard length > 1 else { continue }
                    let shorter = names.meaning(of: text.span, in: before..<(bytes.count - 1))
                    #expect(shorter == (length > 3 ? .managed : .other))
                }
            }
        }
    }

    @Test func `each name with a meaning is found in any letter case`() {
        for meaning in FieldName.allCases where meaning != .managed {
            for name in meaning.spellings {
                for spelling in FieldNamesTests.spellings(name) {
                    #expect(FieldNames.response.meaning(of: spelling) == meaning)
                }
                #expect(FieldNames.response.meaning(of: name + "z") == .other)
                #expect(FieldNames.response.meaning(of: "z" + name.dropFirst()) == .other)
            }
        }
    }

    /// A name in lower, upper, as-is and alternating letters.
    private static func spellings(_ name: String) -> [String] {
        let odd = name.enumerated().map { $0 % 2 == 0 ? $1.lowercased() : $1.uppercased() }.joined()
        let even = name.enumerated().map { $0 % 2 == 1 ? $1.lowercased() : $1.uppercased() }.joined()
        return [name, name.lowercased(), name.uppercased(), odd, even]
    }

    @Test(arguments: managed)
    func `A-08 A-10 A-39 a name that only the gateway may set is managed in every letter case`(_ name: String) {
        let names = FieldNames()
        for spelling in Self.spellings(name) {
            #expect(names.meaning(of: spelling) == .managed, "\(spelling)")
        }
    }

    @Test(arguments: FieldName.allCases.filter { ![.other, .managed, .irregular, .disguised].contains($0) })
    func `a name with a meaning has it in every letter case`(_ meaning: FieldName) {
        for name in meaning.spellings {
            for spelling in Self.spellings(name) {
                #expect(FieldNames().meaning(of: spelling) == meaning)
            }
        }
    }

    @Test(arguments: [
        "Accept-Language", "X", "X-", "X-Auth-Token", "Proxy-Agent", "Sslclient", "XForwarded-User", "Y-Forwarded-User",
        "X-Forwardex-User", "Hos",
        "Hosts",
        "User", "X-Users", "Content-Lengt", "Content-Lengthy", "Te2", "-", "0",
    ])
    func `another name has no meaning`(_ name: String) {
        #expect(FieldNames().meaning(of: name) == .other)
    }

    @Test func `A-08 identity names of an app are managed in every letter case`() {
        let names = FieldNames(alsoManaged: ["X-WEBAUTH-NAME", "Grafana-Login"])
        for spelling in Self.spellings("X-Webauth-Name") + Self.spellings("Grafana-Login") {
            #expect(names.meaning(of: spelling) == .managed)
        }
    }

    @Test func `X-03 an identity name of an app protects its family, but never all of X-`() {
        let names = FieldNames(alsoManaged: ["X-Acme-User", "Grafana-Login", "X-Who", "Plain"])
        for name in ["X-Acme-Role", "x-acme-org", "Grafana-Role", "X-Acme-"] {
            #expect(names.meaning(of: name) == .managed, "\(name)")
        }
        for name in ["X-Acm", "X-Other", "Plain-Role", "X-Auth-Token"] {
            #expect(names.meaning(of: name) == .other, "\(name)")
        }
    }

    @Test(arguments: [
        ("User-Email", "User-Agent"), ("Sec-User", "Sec-WebSocket-Key"), ("Content-User", "Content-Disposition"),
        ("Accept-User", "Accept-Encoding"), ("Git-User", "Git-Protocol"), ("If-User", "If-None-Match"),
    ])
    func `X-03 an identity name with a prefix of HTTP names protects only itself`(own: String, of http: String) {
        let names = FieldNames(alsoManaged: [own])
        #expect(names.meaning(of: own) == .managed)
        #expect(names.meaning(of: http) == FieldNames().meaning(of: http))
    }

    @Test func `X-03 an identity name of an app is managed, whatever else it means`() {
        for name in FieldName.allCases.flatMap(\.spellings) {
            #expect(FieldNames(alsoManaged: [name]).meaning(of: name) == .managed, "\(name)")
        }
    }

    @Test func `X-03 a token that an app verifies is forwarded, unless it is an identity name of an app`() {
        #expect(FieldNames().meaning(of: "X-Auth-Token") == .other)
        #expect(FieldNames(alsoManaged: ["X-Auth-Token"]).meaning(of: "X-Auth-Token") == .managed)
    }

    @Test func `A-08 each of thousands of identity names of apps is managed`() {
        let many = (0..<5000).map { "LoginOfApp\($0)" }
        let names = FieldNames(alsoManaged: many)
        #expect(many.allSatisfy { names.meaning(of: $0.uppercased()) == .managed })
        #expect(names.meaning(of: "Host") == .host)
        #expect(names.meaning(of: "LoginOfApp5000") == .other)
    }

    @Test func `in responses of apps only the gateway's own family is managed`() {
        #expect(FieldNames.response.meaning(of: "x-gatehouse-assertion") == .managed)
        #expect(FieldNames.response.meaning(of: "X-Real-Ip") == .other)
        #expect(FieldNames.response.meaning(of: "X-Forwarded-User") == .other)
        #expect(FieldNames.response.meaning(of: "Set-Cookie") == .setCookie)
    }

    @Test func `S-40 fields that identify, route or frame are protected from Connection`() {
        for name in [
            FieldName.host, .cookie, .authorization, .content, .contentLength, .managed, .forwarded, .xForwardedFor,
        ] {
            #expect(name.isProtectedFromConnection)
        }
        #expect(!FieldName.other.isProtectedFromConnection)
    }

    @Test(arguments: ["X_Trace", "x.trace", "X~Trace", "a_b.c"])
    func `Y-06 an irregular name without a meaning is marked irregular`(_ name: String) {
        let meaning = FieldNames().meaning(ofIrregular: Array(name.utf8).span)
        #expect(meaning == .irregular)
    }

    @Test(arguments: ["Content_Type", "SEC_FETCH_SITE", "Set.Cookie"])
    func `Y-06 an irregular name that maps to one with a meaning is disguised`(_ name: String) {
        let meaning = FieldNames().meaning(ofIrregular: Array(name.utf8).span)
        #expect(meaning == .disguised)
    }

    @Test(arguments: [
        "Transfer_Encoding", "Content.Length", "X_Forwarded_User", "Remote.User", "X~Real~Ip", "Keep_Alive",
    ])
    func `A-08 S-15 an irregular name that frames, routes or identifies is forged`(_ name: String) {
        let meaning = FieldNames().meaning(ofIrregular: Array(name.utf8).span)
        #expect(meaning == nil)
    }

    @Test func `byte classes are the character sets of the standards`() {
        let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
        for byte in UInt8.min...UInt8.max {
            #expect(ByteClass.isPlainName(byte) == Array((letters + "-").utf8).contains(byte))
            #expect(ByteClass.isToken(byte) == Array((letters + "!#$%&'*+-.^_`|~").utf8).contains(byte))
            #expect(ByteClass.isTarget(byte) == Array((letters + "-._~:/?[]@!$&'()*+,;=%").utf8).contains(byte))
            let isLenient = byte >= 0x80 || Array("\"<>\\^`{|}".utf8).contains(byte)
            #expect(ByteClass.isLenientTarget(byte) == isLenient)
            #expect(ByteClass.isValue(byte) == (byte == 9 || (byte >= 32 && byte != 127)))
        }
    }
}
