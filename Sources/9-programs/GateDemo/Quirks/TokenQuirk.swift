// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// A quirk of ID tokens, which the provider's key signs unless the quirk is about the signature.
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
        self.quirk = DemoQuirk(name, of: "any", summary + "; the gateway rejects it.")
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
        TokenQuirk("token-second-audience", "The ID token is for this app and another one") { token, context in
            token.claims["aud"] = [.string(context.client.id), "another-app"]
        },
        TokenQuirk("token-wrong-party", "The ID token was issued to another app (azp)") { token, _ in
            token.claims["azp"] = "another-app"
        },
        TokenQuirk("token-wrong-nonce", "The ID token belongs to another sign-in attempt") { token, _ in
            token.claims["nonce"] = "of-another-attempt"
        },
        TokenQuirk("token-no-nonce", "The ID token has no nonce although one was sent") { token, _ in
            token.claims["nonce"] = nil
        },
        TokenQuirk("token-wrong-access-hash", "The ID token belongs to another access token (at_hash)") { token, _ in
            token.claims["at_hash"] = .string(accessTokenHash("another access token"))
        },
        TokenQuirk("token-no-subject", "The ID token has an empty subject") { token, _ in
            token.claims["sub"] = ""
        },
    ]

    private static let aboutTimes = [
        TokenQuirk("token-expired", "The ID token expired five minutes ago") { token, context in
            token.claims["exp"] = .int(context.clock.now.seconds - 300)
        },
        TokenQuirk("token-not-yet-valid", "The ID token becomes valid in an hour (nbf)") { token, context in
            token.claims["nbf"] = .int(context.clock.now.seconds + 3600)
        },
        TokenQuirk("token-from-the-future", "The ID token is issued an hour in the future (iat)") { token, context in
            token.claims["iat"] = .int(context.clock.now.seconds + 3600)
            token.claims["exp"] = .int(context.clock.now.seconds + 7200)
        },
        TokenQuirk("token-old", "The ID token was issued eleven hours ago, so it is not from this attempt") {
            token,
            context in
            token.claims["iat"] = .int(context.clock.now.seconds - 39_600)
        },
        TokenQuirk("token-long-life", "The ID token is valid for two days") { token, context in
            token.claims["exp"] = .int(context.clock.now.seconds + 172_800)
        },
    ]

    private static let aboutSignatures = [
        TokenQuirk("token-unsigned", "The ID token has alg none and has no signature") { token, _ in
            token.header["alg"] = "none"
            token.signer = .unsigned
        },
        TokenQuirk("token-signed-with-secret", "The ID token is signed with the client secret, HS256") {
            token,
            context in
            token.header["alg"] = "HS256"
            token.signer = .shared(context.client.secret.withBytes { $0 })
        },
        TokenQuirk("token-signed-with-public-key", "The ID token is signed with the bytes of the public key, HS256") {
            token,
            context in
            token.header["alg"] = "HS256"
            token.signer = .shared(Array(context.key.publicPEM.utf8))
        },
        TokenQuirk("token-unknown-algorithm", "The ID token has alg XY512, which does not exist") { token, _ in
            token.header["alg"] = "XY512"
        },
        TokenQuirk("token-bad-signature", "The ID token's signature is not from the key that it names") { token, _ in
            token.signer = .invalid
        },
        TokenQuirk(
            "token-unknown-keys",
            "Every ID token names another unpublished key, which causes one fetch of the key set",
        ) { token, context in
            token.header["kid"] = .string(context.random.token(12))
        },
        TokenQuirk("token-critical-header", "The ID token requires an extension (crit)") {
            token,
            _ in
            token.header["crit"] = ["b64"]
            token.header["b64"] = true
        },
    ]
}
