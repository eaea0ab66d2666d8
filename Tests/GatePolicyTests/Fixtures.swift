// SPDX-License-Identifier: Apache-2.0

import GateCore
import GatePolicy
import Testing

extension Profile {
    /// A user of the provider `google` with a verified address and two groups.
    static var ada: Profile {
        var ada = Profile(provider: "google", issuer: "https://accounts.google.com", subject: "104729384756102938475")
        ada.email = "ada@example.com"
        ada.emailVerified = true
        ada.groups = ["acme/platform", "staff"]
        return ada
    }
}

extension AccessEntry {
    /// An entry with some conditions.
    static func with(_ change: (inout AccessEntry) -> Void) -> AccessEntry {
        var entry = AccessEntry(at: RulePlace(line: 7))
        change(&entry)
        return entry
    }
}

extension Route {
    /// A route of an app at the front of its host that accepts google and microsoft.
    static func to(_ access: AccessRule, publicRules: [PublicRule] = []) throws -> Route {
        var route = Route(
            app: "wiki",
            origin: try #require(Origin(scheme: "https", host: "wiki.example.com")),
            path: "/"
        )
        route.providers = ["google", "microsoft"]
        route.access = access
        route.publicRules = publicRules
        return route
    }
}

extension Route {
    /// The decision about a request without further facts.
    func decision(method: String, path: String, profile: Profile?) -> Decision {
        let facts = RequestFacts(method: method, client: nil, time: Instant(seconds: 0), authenticated: nil)
        return self.decision(for: facts, path: Array(path.utf8), profile: profile)
    }
}

extension AccessRule {
    /// The admission of a user of google by the rule alone, or nil if nothing admits them.
    func admission(of profile: Profile) throws -> Decision? {
        var route = try Route.to(self)
        route.providers = [profile.provider]
        let decision = route.decision(for: profile)
        return decision?.isAdmission ?? false ? decision : nil
    }
}
