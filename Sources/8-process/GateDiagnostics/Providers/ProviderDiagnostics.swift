// SPDX-License-Identifier: Apache-2.0

package import GateConfiguration
package import GateCore
internal import GateMail
internal import GateOpenID
internal import GateOperations
internal import GateProviderHTTP
internal import GateProviders
internal import GateRedis

/// Checks the providers of a configuration with what is public: documents, certificates, the time.
///
/// No sign-in happens and no secret is sent. At most eight providers are asked at a time, each for at most ten seconds.
package struct ProviderDiagnostics: Sendable {
    private static let atOnce = 8
    private static let hostsPerProvider = 8
    private static let timePerProvider = Duration.seconds(10)
    private static let timePerCall = Duration.seconds(4)

    private let providers: [ProviderSettings]
    private let mail: MailServer?
    private let redis: RedisSettings?
    private let gateway: GatewaySettings
    private let clock: WallClock
    private let transports = ProviderTransports()

    /// Diagnostics of all providers, or of one.
    ///
    /// - Parameters:
    ///   - configuration: The providers, and the origin of the callbacks.
    ///   - name: The only provider to ask; nil for all.
    ///   - clock: The time here.
    /// - Throws: `provider.none` if no provider has that name, or a `Failure` if calls cannot be made at all.
    package init(of configuration: Configuration, only name: String?, clock: WallClock = .system) throws(Failure) {
        let providers = configuration.servers.filter { name == nil || $0.id == name }
        guard !providers.isEmpty || name == nil else {
            let known = configuration.servers.map(\.id).joined(separator: ", ")
            throw Failure(.providerNone, "the file has no provider '\(name ?? "")'; it has \(known)")
        }
        self.providers = providers
        self.mail = name == nil ? configuration.mail : nil
        if name == nil, case .redis(let settings) = configuration.sessions.store {
            self.redis = settings
        } else {
            self.redis = nil
        }
        self.gateway = configuration.gateway
        self.clock = clock
        for settings in providers {
            self.transports.connect(settings.id, over: try CurlTransport(to: settings.id, trust: try settings.trust()))
        }
    }

    /// Runs the checks and returns the findings, the providers in the order of the file.
    package func lines() async throws(Failure) -> [ProviderFinding] {
        defer { self.transports.shutdown() }
        let results = await self.resultsByID()
        var lines: [ProviderFinding] = []
        for settings in self.providers {
            lines += try results[settings.id]?.get() ?? []
        }
        if let mail { lines.append(await Self.finding(about: mail)) }
        if let redis { lines.append(await .about(redis)) }
        return lines
    }

    /// Connects to the mail server and logs in there, and sends nothing.
    private static func finding(about server: MailServer) async -> ProviderFinding {
        let reply = await server.verify()
        guard reply.outcome != .sent else {
            let login = server.login == nil ? "" : " and accepts the login"
            return ProviderFinding("mail", .mail, .good, "\(server.url) responds\(login)")
        }
        let help: String
        switch reply.outcome {
        case .loginRejected: help = "check 'username' and 'password'"
        case .tlsFailed: help = "check 'ca_file', or use smtps:// for a server without STARTTLS"
        case .unreachable, .timedOut: help = "check 'server', the port and the firewall"
        case .sent, .rejected, .rejectedForNow, .other: help = "look into the log of the server"
        }
        return ProviderFinding(
            "mail",
            .mail,
            .failure,
            "\(server.url): \(reply.outcome.rawValue): \(reply.text); \(help)"
        )
    }

    private func resultsByID() async -> [String: Result<[ProviderFinding], Failure>] {
        await withTaskGroup(of: (id: String, result: Result<[ProviderFinding], Failure>).self) { group in
            var results: [String: Result<[ProviderFinding], Failure>] = [:]
            for (index, settings) in self.providers.enumerated() {
                if index >= Self.atOnce, let checked = await group.next() { results[checked.id] = checked.result }
                group.addTask { (settings.id, await self.result(for: settings)) }
            }
            for await checked in group { results[checked.id] = checked.result }
            return results
        }
    }

    private func result(for settings: ProviderSettings) async -> Result<[ProviderFinding], Failure> {
        do throws(Failure) {
            return .success(try await self.checks(of: settings).lines)
        } catch {
            return .failure(error)
        }
    }

    private func checks(of settings: ProviderSettings) async throws(Failure) -> ProviderChecks {
        let definition = try ProviderDefinition(settings)
        let redirectURI = self.gateway.callback(of: settings.id)
        let transport = DiagnosticTransport(
            self.transports,
            clock: self.clock,
            deadline: .now + Self.timePerProvider,
            maxDuration: Self.timePerCall
        )
        let party = try RelyingParty(
            definition: definition,
            settings: settings,
            redirectURI: redirectURI,
            transport: transport,
            clock: self.clock,
            random: .system
        )
        let findings = await party.diagnostics.findings()
        let endpoints = (try? findings.endpoints.get())?.called ?? []
        let hosts = await self.greetings(of: definition.hosts(calling: endpoints), settings.id, transport)
        return ProviderChecks(
            settings: settings,
            definition: definition,
            redirectURI: redirectURI,
            findings: findings,
            clockDifferences: transport.clockDifferences,
            hosts: hosts,
            now: self.clock.now
        )
    }

    private func greetings(
        of origins: [Origin],
        _ provider: String,
        _ transport: DiagnosticTransport
    ) async -> [ProviderChecks.Host] {
        let asked = origins.prefix(Self.hostsPerProvider)
        let greetings = await withTaskGroup(of: ProviderChecks.Host.self) { group in
            for origin in asked {
                group.addTask { (origin, await self.probe(of: origin, provider, transport)) }
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
        _ transport: DiagnosticTransport
    ) async -> Result<HostProbe, Failure> {
        do throws(Failure) {
            let patience = max(transport.timeLeft, .milliseconds(1))
            let probe = try await self.transports.transport(to: provider).probe(at: origin, timeout: patience)
            if let response = probe.response { transport.note(response) }
            return .success(probe)
        } catch {
            return .failure(error)
        }
    }
}
