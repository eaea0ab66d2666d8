// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Something wrong with an ID token, whose signature is nevertheless the provider's unless that is what is wrong.
///
/// OpenID Connect Core §3.1.3.7; the gateway has one rule for each.
struct TokenQuirk: Sendable {
    let quirk: DemoQuirk
    let change: @Sendable (inout DemoToken, SimulatorContext) -> Void

    private init(
        _ name: String,
        _ summary: String,
        change: @escaping @Sendable (inout DemoToken, SimulatorContext) -> Void,
    ) {
        self.quirk = DemoQuirk(name, of: "any", summary + "; the gateway refuses it.")
        self.change = change
    }

    static let all = Self.aboutParties + Self.aboutTimes + Self.aboutSignatures

    private static let aboutParties = [
        TokenQuirk("token-wrong-issuer", "The ID token is from another issuer") { token, _ in
            token.claims["iss"] = "https://attacker.example"
        },
        TokenQuirk("token-wrong-audience", "The ID token is for another app") { token, _ in
            token.claims["aud"] = "another-app"
        },
        TokenQuirk("token-second-audience", "The ID token is for this app and another one") { token, stage in
            token.claims["aud"] = [.string(stage.client.id), "another-app"]
        },
        TokenQuirk("token-wrong-party", "The ID token was issued to another app (azp)") { token, _ in
            token.claims["azp"] = "another-app"
        },
        TokenQuirk("token-wrong-nonce", "The ID token belongs to another attempt to sign in") { token, _ in
            token.claims["nonce"] = "of-another-attempt"
        },
        TokenQuirk("token-no-nonce", "The ID token has no nonce although one was sent") { token, _ in
            token.claims["nonce"] = nil
        },
        TokenQuirk("token-wrong-access-hash", "The ID token belongs to another access token (at_hash)") { token, _ in
            token.claims["at_hash"] = .string(accessTokenHash("another access token"))
        },
        TokenQuirk("token-no-subject", "The ID token is about nobody") { token, _ in
            token.claims["sub"] = ""
        },
    ]

    private static let aboutTimes = [
        TokenQuirk("token-expired", "The ID token expired five minutes ago") { token, stage in
            token.claims["exp"] = .int(stage.clock.now.seconds - 300)
        },
        TokenQuirk("token-not-yet-valid", "The ID token is valid in an hour only (nbf)") { token, stage in
            token.claims["nbf"] = .int(stage.clock.now.seconds + 3600)
        },
        TokenQuirk("token-from-the-future", "The ID token was issued in an hour (iat)") { token, stage in
            token.claims["iat"] = .int(stage.clock.now.seconds + 3600)
            token.claims["exp"] = .int(stage.clock.now.seconds + 7200)
        },
        TokenQuirk("token-old", "The ID token was issued eleven hours ago, so it is not from this attempt") {
            token,
            stage in
            token.claims["iat"] = .int(stage.clock.now.seconds - 39_600)
        },
        TokenQuirk("token-long-life", "The ID token is valid for two days") { token, stage in
            token.claims["exp"] = .int(stage.clock.now.seconds + 172_800)
        },
    ]

    private static let aboutSignatures = [
        TokenQuirk("token-unsigned", "The ID token says alg none and has no signature") { token, _ in
            token.header["alg"] = "none"
            token.signer = .nobody
        },
        TokenQuirk("token-signed-with-secret", "The ID token is signed with the client secret, HS256") {
            token,
            stage in
            token.header["alg"] = "HS256"
            token.signer = .shared(stage.client.secret.withBytes { $0 })
        },
        TokenQuirk("token-signed-with-public-key", "The ID token is signed with the bytes of the public key, HS256") {
            token,
            stage in
            token.header["alg"] = "HS256"
            token.signer = .shared(Array(stage.key.publicPEM.utf8))
        },
        TokenQuirk("token-unknown-algorithm", "The ID token says alg XY512, which nobody knows") { token, _ in
            token.header["alg"] = "XY512"
        },
        TokenQuirk("token-bad-signature", "The ID token's signature is not from the key that it names") { token, _ in
            token.signer = .stranger
        },
        TokenQuirk(
            "token-unknown-keys",
            "Every ID token names another key that the provider does not publish, which leads to one fetch and no flood",
        ) { token, stage in
            token.header["kid"] = .string(stage.random.token(12))
        },
        TokenQuirk("token-critical-header", "The ID token asks for an extension that must be understood (crit)") {
            token,
            _ in
            token.header["crit"] = ["b64"]
            token.header["b64"] = true
        },
    ]
}
