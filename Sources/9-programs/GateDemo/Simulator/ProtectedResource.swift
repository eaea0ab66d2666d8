// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// A request for a resource with a valid access token.
struct ResourceRequest: Sendable {
    let request: DemoRequest
    let token: String
    let grant: DemoGrant
}

/// A resource that requires an access token.
struct ProtectedResource: Sendable {
    /// How the resource writes errors; nil if like the others of the provider.
    let errors: OAuthErrorFormat?
    let response: @Sendable (ResourceRequest) -> DemoResponse

    init(errors: OAuthErrorFormat? = nil, response: @escaping @Sendable (ResourceRequest) -> DemoResponse) {
        self.errors = errors
        self.response = response
    }

    /// The user's members with these names, as far as the scopes allow, and some constants.
    ///
    /// OpenID Connect Core §5.3.2.
    static func userinfo(_ names: Set<String>? = nil, adding: [String: JSON] = [:]) -> ProtectedResource {
        ProtectedResource { call in
            .json(.object(call.grant.members(names).merging(adding) { $1 }))
        }
    }
}

extension DemoGrant {
    /// The user's members with these names, nil for all; without the email address if its scope was not granted.
    func members(_ names: Set<String>?) -> [String: JSON] {
        let hidden = self.scopes.contains("email") ? [] : ["email", "email_verified"]
        return self.user.record.filter { name, _ in names?.contains(name) != false && !hidden.contains(name) }
    }
}
