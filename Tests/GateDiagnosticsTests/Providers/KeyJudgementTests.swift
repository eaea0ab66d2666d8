// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateCore
import GateOpenID
import Testing

@testable import GateDiagnostics

@Suite struct KeyJudgementTests {
    private static let weak: JSON = [
        "kty": "RSA", "kid": "old", "e": "AQAB", "n": .string(Base64URL.encode([UInt8](repeating: 0xFF, count: 128))),
    ]

    private func line(_ keys: JSON, _ changes: [String: JSON?] = [:]) async throws -> ProviderFinding {
        let provider = try await StubProvider.checks(
            document: StubProvider.json(StubProvider.document(changes)),
            keys: StubProvider.json(["keys": keys]),
        )
        return provider.keys
    }

    @Test func `only weak keys are a failure that names their size`() async throws {
        let line = try await self.line([Self.weak])
        #expect(line.verdict == .failure)
        #expect(line.text.contains("\"old\": RSA of 1024 bits"), "\(line.text)")
    }

    @Test(
        arguments: [
            (["kty": "EC", "crv": "secp256k1", "kid": "k"], "the curve \"secp256k1\""),
            (["kty": "oct", "kid": "k", "k": "AAAA"], "must not be published"),
            (["kty": "AKP\u{1B}[2J", "kid": "k"], "\\u{1B}[2J"),
            (["kty": "EC", "crv": "P-256", "x": "AA"], "malformed"),
            (["kty": "EC", "crv": "P-256", "x": "AA"], "without kid"),
        ] as [(JSON, String)]
    )
    func `a key that is refused beside a good one is a warning with the reason`(key: JSON, words: String) async throws {
        let line = try await self.line([StubProvider.key, key])
        #expect(line.verdict == .warning)
        #expect(line.text.hasPrefix("1 usable: ES256; refused are "))
        #expect(line.text.contains(words), "\(line.text)")
    }

    @Test func `a key for encryption does not count`() async throws {
        let line = try await self.line([
            StubProvider.key, ["kty": "RSA", "use": "enc"], ["kty": "EC", "key_ops": ["wrapKey"]],
        ])
        #expect(line.verdict == .good)
        #expect(try await self.line([["kty": "RSA", "use": "enc"]]).verdict == .failure)
    }

    @Test(arguments: [[], 7] as [JSON])
    func `a key set without keys is a failure`(keys: JSON) async throws {
        #expect(try await self.line(keys).verdict == .failure)
    }

    @Test func `a key set with more than 100 keys is a failure, however good they are`() async throws {
        let keys = Array(repeating: StubProvider.key, count: 99) + [Self.weak]
        #expect(try await self.line(.array(keys)).verdict == .warning)
        #expect(try await self.line(.array(keys + [StubProvider.key])).verdict == .failure)
        #expect(try await self.line(.array(keys + [Self.weak])).verdict == .failure)
    }

    @Test func `a provider that signs with no accepted algorithm is a failure`() async throws {
        let line = try await self.line([StubProvider.key], ["id_token_signing_alg_values_supported": ["HS256"]])
        #expect(line.verdict == .failure)
        #expect(line.text.contains("HS256") && line.text.contains("RS256"))
    }

    @Test func `a key set that cannot be had is a failure of the keys, not of the document`() async throws {
        let document = StubProvider.json(StubProvider.document())
        let provider = try await StubProvider.checks(document: document, keys: ProviderResponse(status: 500))
        #expect(provider.discovery.verdict == .good)
        #expect(provider.keys.verdict == .failure)
        #expect(provider.keys.text.contains("https://keys.example.com/jwks"), "\(provider.keys.text)")
    }
}
