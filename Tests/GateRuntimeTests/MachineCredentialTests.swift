// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProviders
import GateWire
import NIOCore
import Testing

@testable import GateRuntime

@Suite struct MachineCredentialTests {
    private static let token = "gth_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG"

    private func field(_ lines: String..., takesBasic: Bool = true) throws -> MachineCredential.Field {
        var parser = RequestParser(names: FieldNames(), isSecure: true)
        let fields = lines.map { "Authorization: \($0)\r\n" }.joined()
        var buffer = ByteBuffer(string: "GET / HTTP/1.1\r\nHost: a.example\r\n\(fields)\r\n")
        return MachineCredential.field(of: try #require(try parser.head(from: &buffer)), takesBasic: takesBasic)
    }

    private func text(_ field: MachineCredential.Field) -> String? {
        guard case .token(let credential) = field else { return nil }
        return credential.text
    }

    @Test func `T-21 D-02 one field, spaces and the characters of a token`() throws {
        #expect(self.text(try self.field("Bearer a.b-c_d~e+f/g==")) == "a.b-c_d~e+f/g==")
        #expect(self.text(try self.field("bEaReR x")) == "x")
        #expect(self.text(try self.field("Bearer   x")) == "x")
        for value in [
            "Bearer", "Bearer\tx", "Bearer \tx", "Bearer  ", "Bearer x y", "Bearer x,y", "Bearer =", "Bearer x=y",
            "Bearer,x",
        ] {
            guard case .malformed = try self.field(value) else {
                Issue.record("\(value) has a reading")
                continue
            }
        }
        #expect(throws: WireRejection.self) { try self.field("Bearer x", "Bearer x") }
    }

    @Test func `other schemes are the app's own`() throws {
        for value in ["Digest username=\"x\"", "Negotiate abc", "Bearerx y", "", "Token x"] {
            guard case .none = try self.field(value) else {
                Issue.record("\(value) is taken for a token")
                continue
            }
        }
    }

    @Test(
        arguments: [
            ("x:\(token)", true), ("\(token):", true), ("\(token):x-oauth-basic", true), ("x:gth_", false),
            ("x:secret", false), (token, false), ("x:\(token):y", true),
        ]
    )
    func `a password is a token by its prefix only`(pair: String, isToken: Bool) throws {
        let value = "Basic \(Base64URL.padded(Array(pair.utf8)))"
        guard case .token(let credential) = try self.field(value) else { return #expect(!isToken) }
        #expect(isToken && credential.isAmbient && credential.text.hasPrefix(Self.token))
        guard case .none = try self.field(value, takesBasic: false) else {
            Issue.record("a password is taken where none is accepted")
            return
        }
    }

    @Test func `a hash is the one spelling of its token's SHA-256`() {
        let hash = ServiceToken.hash(of: "gth_x")
        let text = ServiceToken.text(of: hash)
        #expect(ServiceToken.hash(text) == hash && text.utf8.count == 71)
        // printf gth_x | sha256sum
        #expect(text == "sha256:9eaf435637a05cef67cd27a73bf34a4acda67cf589ad4dfdf762d6c94dc24622")
        for other in [text.uppercased(), String(text.dropLast()), text + "0", "sha512" + text.dropFirst(6), ""] {
            #expect(ServiceToken.hash(other) == nil)
        }
    }
}
