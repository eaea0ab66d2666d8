// SPDX-License-Identifier: Apache-2.0

extension FailureTable {
    static let idToken = FailureTable(
        .idToken,
        rows: [
            Row(.idTokenMalformed, "id_token.malformed", .providerFailed, page: .providerMisconfigured),
            Row(.idTokenSize, "id_token.size", .providerFailed, page: .providerMisconfigured),
            Row(.idTokenType, "id_token.type", .providerFailed, page: .providerMisconfigured),
            Row(.idTokenEncrypted, "id_token.encrypted", .providerFailed, page: .providerMisconfigured),
            Row(.idTokenUnsigned, "id_token.unsigned", .providerFailed, page: .providerMisconfigured),
            Row(.idTokenAlgorithm, "id_token.algorithm", .providerFailed, page: .providerMisconfigured),
            Row(.idTokenCriticalHeader, "id_token.critical_header", .providerFailed, page: .providerMisconfigured),
            Row(.idTokenKeyID, "id_token.key_id", .providerFailed, page: .providerMisconfigured),
            Row(.idTokenKeyUnknown, "id_token.key_unknown", .providerFailed),
            Row(.idTokenKeyIssuer, "id_token.key_issuer", .providerFailed, page: .providerMisconfigured),
            Row(.idTokenSignature, "id_token.signature", .providerFailed, page: .providerMisconfigured),
            Row(.idTokenIssuer, "id_token.issuer", .providerFailed, page: .providerMisconfigured),
            Row(.idTokenAudience, "id_token.audience", .providerFailed, page: .providerMisconfigured),
            Row(.idTokenAuthorizedParty, "id_token.authorized_party", .providerFailed, page: .providerMisconfigured),
            Row(.idTokenSubject, "id_token.subject", .providerFailed, page: .providerMisconfigured),
            Row(.idTokenExpired, "id_token.expired", .providerFailed, page: .providerMisconfigured),
            Row(.idTokenIssuedAt, "id_token.issued_at", .providerFailed, page: .providerMisconfigured),
            Row(.idTokenNotBefore, "id_token.not_before", .providerFailed, page: .providerMisconfigured),
            Row(.idTokenLifetime, "id_token.lifetime", .providerFailed, page: .providerMisconfigured),
            Row(.idTokenNonce, "id_token.nonce", .providerFailed, page: .signInNotCompleted),
            Row(.idTokenAccessTokenHash, "id_token.access_token_hash", .providerFailed, page: .providerMisconfigured),
        ],
        documentation: [
            .idTokenMalformed:
                "It is not a signed JWT, it is too large, or it is a token for another purpose.",
            .idTokenEncrypted: """
            It is encrypted. Turn encryption off for this client at the provider; the gateway reads signed tokens \
            only.
            """,
            .idTokenUnsigned: """
            It is not signed, or signed with an algorithm that this provider must not use. The log names the \
            algorithm, the allowed ones, and the line to change here or at the provider: \
            [oidc.md](providers/oidc.md#signatures).
            """,
            .idTokenCriticalHeader: "It demands an extension that the gateway does not support.",
            .idTokenKeyID: """
            Its key has no valid name, is not among the provider's keys, or is the key of another issuer. The \
            gateway fetches the keys for an unknown name at most once in 30 seconds: after a second change of keys \
            within that time, sign-ins fail until it is over.
            """,
            .idTokenSignature: "The signature is wrong.",
            .idTokenIssuer: """
            It is from another issuer, for another client, or has no usable subject. If it is for this client and \
            for others, list those in `trusted_audiences`.
            """,
            .idTokenExpired: """
            Its times are wrong. If all providers fail: is the gateway's clock right? `id_token.lifetime`: it \
            lives longer than `id_token_lifetime`.
            """,
            .idTokenNonce: "It does not belong to this attempt.",
            .idTokenAccessTokenHash: "It does not belong to the access token beside it.",
        ],
        advice: [
            .idTokenMalformed: untrustedToken,
            .idTokenSize: untrustedToken,
            .idTokenType: untrustedToken,
            .idTokenEncrypted: """
            turn the encryption of ID tokens off for this client at the provider; the gateway reads signed ones \
            only
            """,
            .idTokenUnsigned: untrustedToken,
            .idTokenAlgorithm: "change what is named above, here in {section}.id_token_algorithms or at the provider",
            .idTokenCriticalHeader: untrustedToken,
            .idTokenKeyID: untrustedToken,
            .idTokenKeyUnknown: untrustedToken,
            .idTokenKeyIssuer: untrustedToken,
            .idTokenSignature: untrustedToken,
            .idTokenIssuer: untrustedToken,
            .idTokenAudience: """
            compare client_id in {section} with the registration; list others that are in the audience in \
            {section}.trusted_audiences
            """,
            .idTokenAuthorizedParty: untrustedToken,
            .idTokenSubject: untrustedToken,
            .idTokenExpired: untrustedToken,
            .idTokenIssuedAt: untrustedToken,
            .idTokenNotBefore: untrustedToken,
            .idTokenLifetime: "let {section}.id_token_lifetime be as long as the provider's ID tokens live",
            .idTokenNonce: "if the provider never sends the nonce back, set nonce: if_present in {section}",
            .idTokenAccessTokenHash: untrustedToken,
        ]
    )

    private static let untrustedToken =
        "the provider sent a token that cannot be trusted; docs/errors.md explains {code}"
}
