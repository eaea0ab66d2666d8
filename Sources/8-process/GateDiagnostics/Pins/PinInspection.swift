// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GateOpenID
internal import GateOperations
internal import GateProviderHTTP
package import GateProviders

/// Looks at the keys that hosts show now, for `gatehouse pins`.
///
/// The chain is verified as for every call, whether it matches the pins or not. A chain that is not trusted is not shown,
/// since pins taken from it would be those of an attacker in between.
package struct PinInspection: Sendable {
    /// One host and what it showed.
    package struct Host: Sendable {
        let origin: Origin
        let set: PinSet?
        let chain: Result<[ProviderCertificate], Failure>
    }

    /// The hosts, in the order in which they are called.
    package let hosts: [Host]

    /// Looks at one host.
    ///
    /// - Parameters:
    ///   - origin: The host; https.
    ///   - caFile: A PEM file with the only certificates to trust; nil for the system's.
    ///   - proxy: The http proxy to tunnel through; nil for none.
    /// - Returns: The host, trusted or not.
    /// - Throws: A `Failure` if the file cannot be read or calls cannot be made at all.
    package static func of(
        _ origin: Origin,
        caFile: String?,
        proxy: WebURL?
    ) async throws(Failure) -> PinInspection {
        var trust = ProviderTrust(proxy: proxy)
        if let caFile { trust.authorities = try ProviderTrust.authorities(in: caFile) }
        let line = try CurlTransport(to: "host", trust: trust)
        defer { line.shutdown() }
        return PinInspection(hosts: [Host(origin: origin, set: nil, chain: await Self.chain(of: origin, over: line))])
    }

    /// Looks at all hosts that the gateway calls for a provider.
    ///
    /// - Parameter settings: The provider; its pins are compared and refuse nothing.
    /// - Returns: Its hosts, each trusted or not.
    /// - Throws: A `Failure` if calls cannot be made at all, or the provider has none over https.
    package static func of(_ settings: ProviderSettings) async throws(Failure) -> PinInspection {
        let line = try CurlTransport(to: settings.id, trust: try settings.trust().reporting)
        defer { line.shutdown() }
        let definition = try ProviderDefinition(settings)
        let party = try RelyingParty(
            definition: definition,
            settings: settings,
            redirectURI: "",
            transport: ProviderTransports([settings.id: line]),
            clock: .system,
            random: .system
        )
        // Without its document the hosts that are known anyway are shown; what is wrong then shows there.
        let endpoints = (try? await party.called()) ?? []
        var hosts: [Host] = []
        for origin in definition.hosts(calling: endpoints) where origin.isSecure {
            let set = settings.pins?.set(for: origin.host)
            hosts.append(Host(origin: origin, set: set, chain: await Self.chain(of: origin, over: line)))
        }
        guard !hosts.isEmpty else {
            throw Failure(.providerPinInsecure, "'\(settings.id)' is on plain http, without keys")
        }
        return PinInspection(hosts: hosts)
    }

    private static func chain(
        of origin: Origin,
        over line: CurlTransport
    ) async -> Result<[ProviderCertificate], Failure> {
        do throws(Failure) {
            return .success(try await line.chain(at: origin))
        } catch {
            return .failure(error)
        }
    }

    /// Whether every host was trusted and showed a pinned key, if it has pins.
    package var isGood: Bool {
        self.hosts.allSatisfy { host in
            guard case .success(let chain) = host.chain else { return false }
            return host.set.map { PinnedHost(set: $0, chain: chain).firstMatch != nil } ?? true
        }
    }
}
