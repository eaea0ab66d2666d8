// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The identity of clients that a public rule admits by their network; no user key is without a colon.
package enum NetworkIdentity {
    package static let user = "anonymous@network"
}

/// A user as apps get to know one: the profile, and how the user authenticated.
package struct AssertedUser: Sendable, Hashable {
    /// The profile, with the groups that the app gets.
    package var profile: Profile
    /// How the user authenticated, by the names of RFC 8176.
    package var methods: [String]

    package init(_ profile: Profile, methods: [String] = []) {
        self.profile = profile
        self.methods = methods
    }

    /// The value of a fact, of the type that it has in an assertion; nil for one that the user does not have.
    package func value(of fact: IdentityFact) -> JSON? { fact.value(of: self.profile, methods: self.methods) }
}

/// The claims of an assertion about a user, for one app and session.
package struct AssertionClaims: Sendable, Hashable {
    /// The user; nil for ``NetworkIdentity``.
    private let user: AssertedUser?
    /// The app's URL: its origin, and its path prefix if that is not `/`.
    private let audience: String
    /// The id of the session; nil without one.
    private let session: String?
    /// The facts that the assertion has beside those of every assertion.
    private let further: Set<IdentityFact>

    /// Claims about a user for one app.
    package init(
        about user: AssertedUser,
        session: String,
        for audience: String,
        with further: Set<IdentityFact> = []
    ) {
        self.user = user
        self.session = session
        self.audience = audience
        self.further = further
    }

    /// Claims about a client that its network admits.
    package init(networkFor audience: String) {
        self.user = nil
        self.session = nil
        self.audience = audience
        self.further = []
    }

    /// The members that describe the user; what the provider did not return is omitted, `groups` and `roles` never are.
    var members: [String: JSON] {
        guard let user, let session else {
            let none: JSON = []
            return ["aud": .string(self.audience), "sub": .string(NetworkIdentity.user), "groups": none, "roles": none]
        }
        var members: [String: JSON] = ["aud": .string(self.audience), "sid": .string(session)]
        for field in IdentityField.signed { members[field.claim] = user.value(of: .field(field)) }
        var claims: [String: JSON] = [:]
        for fact in self.further {
            switch fact {
            case .field(let field): members[field.claim] = user.value(of: fact)
            case .claim(let name): claims[name] = user.value(of: fact)
            }
        }
        if !claims.isEmpty { members["claims"] = .object(claims) }
        return members
    }
}
