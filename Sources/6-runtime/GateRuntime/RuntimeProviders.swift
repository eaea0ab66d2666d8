// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
internal import GateCore
internal import GateHeaders
internal import GatePolicy
internal import GateProviders

/// The providers of a configuration, and what apps need of their users.
package struct RuntimeProviders: Sendable {
    /// The providers, in the order of the file.
    package let all: [RuntimeProvider]
    private let publicHost: String
    /// Which groups of each provider's users are needed, by the provider's name.
    private let demands: [String: RequiredGroups]
    /// The providers whose access tokens an app gets.
    private let sentAccessTokens: Set<String>

    /// The providers in the order of the file.
    ///
    /// - Parameters:
    ///   - providers: The providers.
    ///   - routes: The routes that need something of their users.
    ///   - publicHost: The name for users of local accounts that have none.
    package init(_ providers: [RuntimeProvider], routes: [RuntimeRoute], publicHost: String) {
        self.all = providers
        self.publicHost = publicHost
        self.demands = Dictionary(
            providers.map { ($0.id, RequiredGroups(of: $0.id, routes: routes.map(\.route))) }
        ) { first, _ in first }
        self.sentAccessTokens = routes.filter { $0.identity.providerToken == .accessToken }.reduce(into: []) {
            $0.formUnion($1.route.providers)
        }
    }

    /// The provider of a name.
    package subscript(_ id: String) -> RuntimeProvider? { self.all.first { $0.id == id } }

    /// The name of a provider for users.
    ///
    /// It is that of its button, and for local accounts without one the host of the gateway; the name in the file is for operators.
    package func name(of id: String) -> String {
        guard let provider = self[id] else { return id }
        return provider.label.name ?? self.publicHost
    }

    /// The providers that a route accepts, in the order of the file; all if there is no route.
    package func accepted(by route: RuntimeRoute?) -> [RuntimeProvider] {
        guard let route else { return self.all }
        return self.all.filter { route.route.providers.contains($0.id) }
    }

    /// Whether a route accepts a provider; without a route all are accepted.
    package func isAccepted(_ provider: String, by route: RuntimeRoute?) -> Bool {
        self.accepted(by: route).contains { $0.id == provider }
    }

    /// Whether any rule or app needs the groups of a provider's users.
    package func needsGroups(of provider: String) -> Bool { self.demands[provider]?.isEmpty == false }

    /// Whether an app gets the access token of a provider's users.
    package func sendsAccessToken(of provider: String) -> Bool { self.sentAccessTokens.contains(provider) }

    /// Keeps those of a user's groups that a rule or an app needs; returns the number of the others.
    func keepGroups(of profile: inout Profile) -> Int { self.demands[profile.provider]?.keep(in: &profile) ?? 0 }
}
