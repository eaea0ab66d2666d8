// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// A route from the hosts and the path prefix of an app to it, with its access rules.
package struct Route: Sendable, Hashable {
    /// The app's name in the file.
    package var app: String
    /// The origins under which browsers reach the app.
    package var origins: OriginSet
    /// The path prefix, starting with `/`; compared by whole segments.
    package var path: String
    /// The names of the accepted providers.
    package var providers: Set<String>
    /// The names of the issuers whose tokens are accepted instead of a session.
    package var issuers: Set<String> = []
    /// The names of the issuers whose tokens clients exchange for access tokens that are accepted; their own tokens are not.
    package var exchangedIssuers: Set<String> = []
    /// The names of the service tokens that are accepted instead of a session.
    package var serviceTokens: Set<String> = []
    /// What access tokens may permit in the app beside what needs no scope.
    package var scopes: [AppScope] = []
    /// Which users may access the app.
    package var access: AccessRule
    /// Which users are denied, regardless of ``access``.
    package var denied: [AccessEntry] = []
    /// Which groups the app receives.
    package var groups = GroupShare.all
    /// The requests that need no sign-in.
    package var publicRules: [PublicRule]

    /// A route of one origin that admits no user.
    package init(app: String, origin: Origin, path: String) {
        self.app = app
        self.origins = OriginSet(origin)
        self.path = path
        self.providers = []
        self.access = .entries([])
        self.publicRules = []
    }

    /// The audience of the app's assertions, the same on all of its hosts: the origin of its first host as the file has it, and
    /// the prefix unless it is `/`.
    package var audience: String { self.path == "/" ? self.origins.name : "\(self.origins.name)\(self.path)" }
}

/// Something that users permit a client in an app.
///
/// RFC 6749 §3.3.
package struct AppScope: Sendable, Hashable {
    /// The name, as requests and tokens have it.
    package let name: String
    /// What it permits, for users.
    package let text: String

    package init(name: String, text: String) {
        (self.name, self.text) = (name, text)
    }
}

/// Which of a user's groups an app receives.
package enum GroupShare: String, Sendable, Hashable, CaseIterable {
    /// All of them.
    case all
    /// Those that the app's rules name.
    case named
}

extension Route {
    /// Whether a user comes from where the app accepts users: a provider, an issuer, or a service token of its own.
    package func accepts(_ profile: Profile) -> Bool {
        let provider = profile.provider
        if self.providers.contains(provider) || self.issuers.contains(provider) { return true }
        if self.exchangedIssuers.contains(provider) { return true }
        guard isIdentical(profile.provider, Profile.serviceTokenProvider) else { return false }
        return self.serviceTokens.contains(profile.subject)
    }

    /// The groups of a provider's users that the app's rules name.
    func namedGroups(of provider: String) -> Set<String> {
        let entries = (self.access.entries + self.denied).flatMap(\.withNested)
        return Set(entries.flatMap { $0.namedGroups(of: provider) })
    }

    /// The roles that the app's rules name.
    var namedRoles: Set<String> {
        Set((self.access.entries + self.denied).flatMap(\.withNested).compactMap(\.role))
    }

    /// Scopes without which no token is admitted: those of the first entry of `allow`, if each entry asks for some.
    package var scopesOfEachAdmission: [String] {
        let asked = self.access.entries.map { entry in
            entry.request.compactMap { condition -> String? in
                guard case .scope(let names) = condition else { return nil }
                return names.first
            }
        }
        guard let first = asked.first, asked.allSatisfy({ !$0.isEmpty }) else { return [] }
        return first
    }

    /// The groups of a user that the app receives, in order.
    package func sharedGroups(of profile: Profile) -> [String] {
        guard self.groups == .named else { return profile.groups }
        let named = self.namedGroups(of: profile.provider)
        return profile.groups.filter { group in named.contains { isIdentical($0, group) } }
    }
}
