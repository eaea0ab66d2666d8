// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// A request for a resource with an access token that is good.
struct ResourceRequest: Sendable {
    let request: DemoRequest
    let token: String
    let grant: DemoGrant
}

/// Something to be had for an access token.
struct Resource: Sendable {
    let response: @Sendable (ResourceRequest) -> DemoResponse

    /// What is known about the person, as far as the scopes go, and some constants.
    ///
    /// OpenID Connect Core §5.3.2.
    static func userinfo(_ names: Set<String>? = nil, adding: [String: JSON] = [:]) -> Resource {
        Resource { call in
            .json(.object(call.grant.members(names).merging(adding) { $1 }))
        }
    }
}

extension DemoGrant {
    /// The members of the person with these names, all if there are none; without the address if nobody asked for it.
    func members(_ names: Set<String>?) -> [String: JSON] {
        let hidden = self.scopes.contains("email") ? [] : ["email", "email_verified"]
        return self.person.record.filter { name, _ in names?.contains(name) != false && !hidden.contains(name) }
    }
}
