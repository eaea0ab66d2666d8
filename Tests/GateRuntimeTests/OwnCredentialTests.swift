// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GateRuntime

@Suite struct OwnCredentialTests {
    private static let issuer = "https://gate.example.com"
    private static let serviceToken = "gth_" + String(repeating: "Az0-_", count: 8) + "abc"
    private static let refreshToken = "ghr_" + String(repeating: "Az0-_", count: 14)

    private static func jwt(_ issuer: String, typ: String = "at+jwt", alg: String = "ES256") -> String {
        let head: JSON = ["alg": .string(alg), "typ": .string(typ), "kid": "k"]
        let claims: JSON = ["iss": .string(issuer), "sub": "staff:1", "aud": "wiki"]
        return "\(Base64URL.encode(head.encoded)).\(Base64URL.encode(claims.encoded)).c2lnbmF0dXJl"
    }

    private static let own = [
        serviceToken, refreshToken, jwt(issuer), jwt(issuer, typ: "JWT"), jwt(issuer, alg: "RS256"),
    ]

    @Test(arguments: own)
    func `D-02 a credential of the gateway is found in whatever spelling an app may read it`(token: String) {
        let pairs = ["x:\(token)", "\(token):", "\(token):x-oauth-basic", "x:\(token):y", token]
        let basic = pairs.flatMap { pair -> [String] in
            let padded = Base64URL.padded(Array(pair.utf8))
            let url = Base64URL.encode(Array(pair.utf8))
            return ["Basic \(padded)", "basic   \(padded)", "Basic \(url)", "Basic\t\"\(padded)\"", padded]
        }
        let plain = [
            "Bearer \(token)", "Bearer  \(token)", "Bearer\t\(token)", "Bearer \"\(token)\"", "bEARER '\(token)'",
            "Token \(token)", "token=\(token)", "GoogleLogin auth=\(token)", "Bearer token:\(token)", token,
            "DPoP \(token)", "Bearer \(token), Bearer x", "Digest username=\"x\", response=\"\(token)\"",
            "ApiKey <\(token)>", "Bearer ~\(token)/", "\u{A0}\(token)\u{A0}",
        ]
        for value in plain + basic {
            #expect(OwnCredential.isIn(Array(value.utf8), issuer: Self.issuer), "\(value)")
        }
    }

    @Test(arguments: [
        "", "Bearer", "Bearer x", "Basic eDp5",
        "Basic \(Base64URL.padded(Array("ada:correct horse battery staple, and more of it".utf8)))",
        "Bearer \(jwt("https://other.example.com"))", "Bearer \(jwt("https://gate.example.com/"))", "Bearer gth",
        "Bearer xgth_1",
        "Token ghr_\(String(repeating: "a1", count: 38))", "Negotiate \(String(repeating: "YII", count: 400))",
        "AWS4-HMAC-SHA256 Credential=AKIA/20261127/eu/s3/aws4_request, SignedHeaders=host, Signature=0123456789abcdef",
    ])
    func `D-02 what the gateway has not issued is the app's own`(value: String) {
        #expect(!OwnCredential.isIn(Array(value.utf8), issuer: Self.issuer))
    }

    @Test func `D-02 a gateway without clients has service tokens only`() {
        #expect(!OwnCredential.isIn(Array("Bearer \(Self.jwt(Self.issuer))".utf8), issuer: nil))
        #expect(OwnCredential.isIn(Array("Token \(Self.serviceToken)".utf8), issuer: nil))
    }
}
