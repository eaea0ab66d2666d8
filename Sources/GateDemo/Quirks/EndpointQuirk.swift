// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// An address of the provider that does not do what it is there for.
enum EndpointQuirk {
    static let discoveryDown = DemoQuirk(
        "discovery-down",
        of: "any",
        "The discovery document cannot be had, status 500; the gateway tells so and goes on with the other providers.",
    )
    static let keysDownLater = DemoQuirk(
        "keys-down-later",
        of: "any",
        "The key set answers once and then with 500, while every second token names a key nobody knows; "
            + "the gateway goes on with the keys it has.",
    )
    static let tokenDown = DemoQuirk(
        "token-endpoint-down",
        of: "any",
        "The token endpoint answers with 500 and a page; the gateway says that the provider failed.",
    )
    static let tokenSlow = DemoQuirk(
        "token-endpoint-slow",
        of: "any",
        "The token endpoint answers after half a minute; the gateway waits ten seconds.",
    )
    static let tokenRedirects = DemoQuirk(
        "token-endpoint-redirects",
        of: "any",
        "The token endpoint answers with a redirect; the gateway does not carry the code and its secret elsewhere.",
    )
    static let otherVerifier = DemoQuirk(
        "verifier-mismatch",
        of: "any",
        "The code belongs to another code challenge (RFC 7636 §4.6), as if it were stolen; the provider refuses it.",
    )

    static let quirks = [
        Self.discoveryDown, Self.keysDownLater, Self.tokenDown, Self.tokenSlow, Self.tokenRedirects,
        Self.otherVerifier,
    ]
}
