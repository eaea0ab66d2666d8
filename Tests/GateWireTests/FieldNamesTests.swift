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
    ]

    /// A name in lower, upper, as-is and alternating letters.
    private static func spellings(_ name: String) -> [String] {
        let odd = name.enumerated().map { $0 % 2 == 0 ? $1.lowercased() : $1.uppercased() }.joined()
        let even = name.enumerated().map { $0 % 2 == 1 ? $1.lowercased() : $1.uppercased() }.joined()
        return [name, name.lowercased(), name.uppercased(), odd, even]
    }

    @Test(arguments: managed)
    func `A-08 A-10 A-39 a name that only the gateway may set is managed in every case of letters`(_ name: String) {
        let names = FieldNames()
        for spelling in Self.spellings(name) {
            #expect(names.meaning(of: spelling) == .managed, "\(spelling)")
        }
    }

    @Test(arguments: FieldName.allCases.filter { $0 != .other && $0 != .managed })
    func `a name with a meaning has it in every case of letters`(_ meaning: FieldName) {
        for name in meaning.spellings {
            for spelling in Self.spellings(name) {
                #expect(FieldNames().meaning(of: spelling) == meaning)
            }
        }
    }

    @Test(arguments: [
        "Accept-Language", "X", "X-", "X-Forwarded", "XForwarded-User", "Y-Forwarded-User", "X-Forwardex-User", "Hos",
        "Hosts",
        "User", "X-Users", "Content-Lengt", "Content-Lengthy", "Te2", "-", "0",
    ])
    func `another name has no meaning`(_ name: String) {
        #expect(FieldNames().meaning(of: name) == .other)
    }

    @Test func `A-08 names that an app adds are managed in every case of letters`() {
        let names = FieldNames(alsoManaged: ["X-WEBAUTH-NAME", "Grafana-Login"])
        for spelling in Self.spellings("X-Webauth-Name") + Self.spellings("Grafana-Login") {
            #expect(names.meaning(of: spelling) == .managed)
        }
    }

    @Test func `A-08 however many names apps add, each of them is managed`() {
        let many = (0..<5000).map { "Login-Of-App-\($0)" }
        let names = FieldNames(alsoManaged: many)
        #expect(many.allSatisfy { names.meaning(of: $0.uppercased()) == .managed })
        #expect(names.meaning(of: "Host") == .host)
        #expect(names.meaning(of: "Login-Of-App-5000") == .other)
    }

    @Test func `in answers of apps only the gateway's own family is managed`() {
        #expect(FieldNames.answers.meaning(of: "x-gatehouse-assertion") == .managed)
        #expect(FieldNames.answers.meaning(of: "X-Real-Ip") == .other)
        #expect(FieldNames.answers.meaning(of: "X-Forwarded-User") == .other)
        #expect(FieldNames.answers.meaning(of: "Set-Cookie") == .setCookie)
    }

    @Test func `S-40 what identifies, routes or frames is protected from Connection`() {
        for name in [
            FieldName.host, .cookie, .authorization, .content, .contentLength, .managed, .forwarded, .xForwardedFor,
        ] {
            #expect(name.isProtectedFromConnection)
        }
        #expect(!FieldName.other.isProtectedFromConnection)
    }

    @Test func `byte classes are the character sets of the standards`() {
        let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
        for byte in UInt8.min...UInt8.max {
            #expect(ByteClass.isPlainName(byte) == Array((letters + "-").utf8).contains(byte))
            #expect(ByteClass.isToken(byte) == Array((letters + "!#$%&'*+-.^_`|~").utf8).contains(byte))
            #expect(ByteClass.isTarget(byte) == Array((letters + "-._~:/?[]@!$&'()*+,;=%").utf8).contains(byte))
            #expect(ByteClass.isValue(byte) == (byte == 9 || (byte >= 32 && byte != 127)))
        }
    }
}
