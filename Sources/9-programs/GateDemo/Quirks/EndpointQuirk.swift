// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// A quirk of an endpoint of the provider.
enum EndpointQuirk {
    static let discoveryDown = DemoQuirk(
        "discovery-down",
        of: "any",
        "Discovery responds with 500; the gateway reports it and serves the other providers.",
    )
    static let keysDownLater = DemoQuirk(
        "keys-down-later",
        of: "any",
        "The key set responds once and then with 500, while every second token names an unknown key; "
            + "the gateway keeps the keys it has.",
    )
    static let tokenDown = DemoQuirk(
        "token-endpoint-down",
        of: "any",
        "The token endpoint responds with 500 and a page; the gateway reports a provider failure.",
    )
    static let tokenSlow = DemoQuirk(
        "token-endpoint-slow",
        of: "any",
        "The token endpoint responds after half a minute; the gateway waits ten seconds.",
    )
    static let tokenRedirects = DemoQuirk(
        "token-endpoint-redirects",
        of: "any",
        "The token endpoint redirects; the gateway does not send the code and its secret elsewhere.",
    )
    static let otherVerifier = DemoQuirk(
        "verifier-mismatch",
        of: "any",
        "The code belongs to another code challenge (RFC 7636 §4.6), as if it were stolen; the provider rejects it.",
    )

    static let quirks = [
        Self.discoveryDown, Self.keysDownLater, Self.tokenDown, Self.tokenSlow, Self.tokenRedirects,
        Self.otherVerifier,
    ]
}
