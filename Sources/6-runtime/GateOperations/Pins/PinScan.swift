// SPDX-License-Identifier: Apache-2.0

internal import GateCore
package import GateOpenID
package import GateProviderHTTP
internal import GateProviders
internal import Synchronization

/// Looks at the chains of all providers at the start, after a reload that changed their trust, and once a day.
///
/// It also fetches what a first sign-in would otherwise have to wait for, and leaves connections open behind it. Providers
/// on plain http are left alone. At most eight are asked at a time.
package final class PinScan: Sendable {
    private static let atOnce = 8
    private static let maxHosts = 8
    private static let interval = Duration.seconds(86_400)

    private let watch: PinWatch
    private let transports: ProviderTransports
    /// Whose survey found all it looked for, and when; another code flow for the same provider is another survey.
    private let done = Mutex<[String: (party: RelyingParty, at: ContinuousClock.Instant)]>([:])
    /// The code flows in force; what a survey of another one finds comes too late.
    private let latest = Mutex<[String: RelyingParty]>([:])

    /// A scan that reports to a watch.
    package init(watch: PinWatch, transports: ProviderTransports) {
        self.watch = watch
        self.transports = transports
    }

    /// Surveys the providers whose survey is due.
    package func run(_ providers: [RelyingParty]) async {
        self.watch.tick()
        let parties = Dictionary(providers.map { ($0.definition.id, $0) }) { first, _ in first }
        self.latest.withLock { $0 = parties }
        self.done.withLock { done in done = done.filter { parties[$0.key] === $0.value.party } }
        let due = providers.filter { self.isDue($0) }
        await withTaskGroup(of: Void.self) { group in
            for (index, party) in due.enumerated() {
                if index >= PinScan.atOnce { await group.next() }
                group.addTask { await self.survey(party) }
            }
        }
    }

    private func isDue(_ party: RelyingParty) -> Bool {
        self.done.withLock { done in
            guard let last = done[party.definition.id], last.party === party else { return true }
            return ContinuousClock.now - last.at >= PinScan.interval
        }
    }

    private func survey(_ party: RelyingParty) async {
        let definition = party.definition
        let known = definition.hosts(calling: [])
        guard known.first?.isSecure ?? true, let line = try? self.transports.transport(to: definition.id) else {
            return
        }
        let endpoints = await PinScan.endpoints(of: party)
        let origins = endpoints.map { definition.hosts(calling: $0) } ?? known
        var isComplete = endpoints != nil
        for origin in origins.filter(\.isSecure).prefix(PinScan.maxHosts) {
            let chain = try? await line.chain(at: origin)
            guard self.isLatest(party) else { return }
            if let chain { self.watch.survey(definition.id, at: origin, chain) }
            isComplete = isComplete && chain != nil
        }
        if endpoints != nil, self.isLatest(party) { self.watch.surveyed(definition.id, origins) }
        guard isComplete, self.isLatest(party) else { return }
        self.done.withLock { $0[definition.id] = (party, .now) }
    }

    private func isLatest(_ party: RelyingParty) -> Bool {
        self.latest.withLock { $0[party.definition.id] === party }
    }

    /// What sign-ins call, with documents fetched that the first would otherwise have to wait for; nil without them.
    private static func endpoints(of party: RelyingParty) async -> [WebURL]? {
        do throws(Failure) {
            try await party.prepare()
            return try await party.called()
        } catch {
            return nil
        }
    }
}
