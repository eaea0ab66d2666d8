// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// An issuer whose tokens machines bring instead of a session.
package struct IssuerSettings: Sendable, Hashable {
    /// How a token is verified.
    package enum Verification: Sendable, Hashable {
        /// It is a JWT, signed with a key that the issuer publishes at this URL; nil to take it from the issuer's metadata.
        case keys(at: WebURL?)
        /// The issuer describes it at this endpoint.
        ///
        /// RFC 7662.
        case introspection(at: WebURL)
    }

    /// The connection to the issuer, how tokens are signed, and how claims become a profile.
    ///
    /// Client id and secret are those for the introspection endpoint; both are empty without one.
    package var provider: ProviderSettings
    /// How a token is verified.
    package var verification: Verification
    /// The audiences of which a token must have one; empty only with an introspection endpoint that reports none.
    package var audiences: [String] = []
    /// The claims that a token must have.
    package var required: [RequiredClaim] = []
    /// The `typ` that the header of a token must have; nil for `at+jwt`, `JWT` or none.
    package var tokenType: String?
    /// How long the result of a verification is used, at most until the token expires.
    package var cache = IssuerSettings.defaultCache

    /// The name in the file, which user keys begin with.
    package var id: String { self.provider.id }

    /// How long the result of a verification is used, unless configured: a token that the issuer revokes is accepted for as
    /// long.
    package static let defaultCache = Duration.seconds(60)

    /// An issuer with the connection that these settings describe.
    package init(_ provider: ProviderSettings, _ verification: Verification) {
        self.provider = provider
        self.verification = verification
    }
}

extension IssuerSettings {
    /// The settings that decide whose tokens are accepted and as which user: a change of one of them invalidates what such a token was
    /// exchanged for.
    package var admissionTerms: [(name: String, value: String)] {
        func joined(_ texts: [String]) -> String { texts.map { "\($0.utf8.count):\($0)" }.joined() }
        let claims = self.required.map { joined([$0.pointer] + $0.values) }
        return self.provider.admissionTerms + [
            ("verification", "\(self.verification)"), ("audiences", joined(self.audiences.sorted())),
            ("required", joined(claims.sorted())), ("token_type", self.tokenType ?? ""),
        ]
    }
}

/// A claim that a token must have, with one of some values.
package struct RequiredClaim: Sendable, Hashable {
    /// The JSON Pointer to the claim, RFC 6901.
    package let pointer: String
    /// The values, of which the claim must be one, or have one if it is an array; compared as they are.
    package let values: [String]

    /// A claim with the values that are accepted.
    package init(pointer: String, values: [String]) {
        self.pointer = pointer
        self.values = values
    }

    /// Whether claims meet it.
    package func isMet(by claims: JSON) -> Bool {
        guard let found = claims.value(at: self.pointer) else { return false }
        return (found.array ?? [found]).contains { one in
            guard let text = one.string ?? one.integer.map({ "\($0)" }) ?? one.bool.map({ "\($0)" }) else {
                return false
            }
            return self.values.contains { isIdentical($0, text) }
        }
    }
}
