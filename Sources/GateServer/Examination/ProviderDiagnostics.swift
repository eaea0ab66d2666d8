// SPDX-License-Identifier: Apache-2.0

package import GateConfiguration
package import GateCore
internal import GateOpenID
internal import GateProviderHTTP
internal import GateProviders

/// Asks the providers of a configuration what anybody may ask: documents, certificates, the time.
///
/// Nobody is signed in and no secret leaves. At most eight providers are asked at a time, each for at most ten seconds.
package struct ProviderDiagnostics: Sendable {
    private static let atOnce = 8
    private static let hostsPerProvider = 8
    private static let timePerProvider = Duration.seconds(10)
    private static let timePerCall = Duration.seconds(4)

    private let providers: [ProviderSettings]
    private let publicURL: Origin
    private let clock: WallClock
    private let transports = ProviderTransports()

    /// An examination of all providers, or of one.
    ///
    /// - Parameters:
    ///   - configuration: The providers, and the origin of the callbacks.
    ///   - name: The only provider to ask; nil for all.
    ///   - clock: The time here.
    /// - Throws: `provider.none` if there is none of that name, or a `Failure` if calls cannot be made at all.
    package init(of configuration: Configuration, only name: String?, clock: WallClock = .system) throws(Failure) {
        let providers = configuration.providers.filter { name == nil || $0.id == name }
        guard !providers.isEmpty else {
            let known = configuration.providers.map(\.id).joined(separator: ", ")
            throw Failure(.providerNone, "the file has no provider '\(name ?? "")'; it has \(known)")
        }
        self.providers = providers
        self.publicURL = configuration.gateway.publicURL
        self.clock = clock
        for settings in providers {
            self.transports.connect(settings.id, over: try CurlTransport(to: settings.id, trust: try settings.trust()))
        }
    }

    /// Asks, and says what was found: the providers in the order of the file.
    package func lines() async throws(Failure) -> [ProviderFinding] {
        defer { self.transports.shutdown() }
        let examined = await self.examinedByID()
        var lines: [ProviderFinding] = []
        for settings in self.providers {
            lines += try examined[settings.id]?.get() ?? []
        }
        return lines
    }

    private func examinedByID() async -> [String: Result<[ProviderFinding], Failure>] {
        typealias Examined = (id: String, result: Result<[ProviderFinding], Failure>)
        return await withTaskGroup(of: Examined.self) { group in
            var results: [String: Result<[ProviderFinding], Failure>] = [:]
            for (index, settings) in self.providers.enumerated() {
                if index >= Self.atOnce, let examined = await group.next() { results[examined.id] = examined.result }
                group.addTask { (settings.id, await self.result(for: settings)) }
            }
            for await examined in group { results[examined.id] = examined.result }
            return results
        }
    }

    private func result(for settings: ProviderSettings) async -> Result<[ProviderFinding], Failure> {
        do throws(Failure) {
            return .success(try await self.examined(settings).lines)
        } catch {
            return .failure(error)
        }
    }

    private func examined(_ settings: ProviderSettings) async throws(Failure) -> ProviderChecks {
        let definition = try ProviderDefinition(settings)
        let redirectURI = self.publicURL.callback(of: settings.id)
        let way = DiagnosticTransport(
            self.transports,
            clock: self.clock,
            deadline: .now + Self.timePerProvider,
            longest: Self.timePerCall
        )
        let party = try RelyingParty(
            definition: definition,
            settings: settings,
            redirectURI: redirectURI,
            transport: way,
            clock: self.clock,
            random: .system
        )
        let findings = await party.diagnostics.findings()
        let hosts = await self.greetings(of: ProviderHosts.called(findings, definition), settings.id, way)
        return ProviderChecks(
            settings: settings,
            definition: definition,
            redirectURI: redirectURI,
            findings: findings,
            clockDifferences: way.clockDifferences,
            hosts: hosts,
            now: self.clock.now
        )
    }

    private func greetings(
        of origins: [Origin],
        _ provider: String,
        _ way: DiagnosticTransport
    ) async -> [ProviderChecks.Host] {
        let asked = origins.prefix(Self.hostsPerProvider)
        let greetings = await withTaskGroup(of: ProviderChecks.Host.self) { group in
            for origin in asked {
                group.addTask { (origin, await self.probe(of: origin, provider, way)) }
            }
            var greetings: [Origin: Result<HostProbe, Failure>] = [:]
            for await host in group { greetings[host.origin] = host.probe }
            return greetings
        }
        return asked.compactMap { origin in greetings[origin].map { (origin, $0) } }
    }

    private func probe(
        of origin: Origin,
        _ provider: String,
        _ way: DiagnosticTransport
    ) async -> Result<HostProbe, Failure> {
        do throws(Failure) {
            let patience = max(way.patience, .milliseconds(1))
            let probe = try await self.transports.transport(to: provider).probe(at: origin, timeout: patience)
            if let answer = probe.response { way.note(answer) }
            return .success(probe)
        } catch {
            return .failure(error)
        }
    }
}
