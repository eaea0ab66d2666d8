// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateOpenID
package import GateProviderHTTP
internal import Synchronization

/// What a new sign-in needs of its provider's hosts: that they show a pinned key, and a connection that is ready.
///
/// After a rejected handshake no user is sent to the provider until a probe has found a pinned key again; existing
/// sessions are not affected.
package final class ProviderReachability: Sendable {
    /// How long the result of a probe holds.
    private static let pause = Duration.seconds(10)

    private let provider: String
    private let watch: PinWatch
    private let transports: ProviderTransports
    private let probe = Mutex<Probe?>(nil)

    /// A look at hosts that were refused.
    private struct Probe {
        let at: ContinuousClock.Instant
        let origins: Set<Origin>
        let task: Task<Void, Never>
    }

    /// The reachability of a provider of the configuration.
    package init(of provider: String, watch: PinWatch, transports: ProviderTransports) {
        self.provider = provider
        self.watch = watch
        self.transports = transports
    }

    /// Lets a sign-in begin.
    ///
    /// - Parameter party: The code flow with the provider, which knows its hosts.
    /// - Throws: `provider.pin_mismatch` while a host that it needs shows no pinned key, and what else the pins forbid.
    package func admit(_ party: RelyingParty) async throws(Failure) {
        guard self.watch.hasPins(self.provider), let line = try? self.transports.transport(to: self.provider) else {
            return
        }
        // Without metadata no sign-in can begin; the next call for them reports why.
        let origins = party.definition.neededHosts(calling: (try? await party.called()) ?? [])
        for origin in origins { try line.permit(origin) }
        let refused = self.watch.rejectedHosts(of: self.provider, among: origins)
        guard !refused.isEmpty else { return }
        await self.probed(Set(refused.map(\.origin)), over: line).value
        if let still = self.watch.rejectedHosts(of: self.provider, among: origins).first { throw still.failure }
    }

    /// Opens a connection to the token endpoint while the user is at the provider, unless one waits already.
    package func warm(_ party: RelyingParty) async {
        guard let token = try? await party.called().first else { return }
        await (try? self.transports.transport(to: self.provider))?.warm(token.origin)
    }

    /// The probe that is in progress or has just ended, or a new one.
    private func probed(_ origins: Set<Origin>, over line: CurlTransport) -> Task<Void, Never> {
        self.probe.withLock { probe in
            if let probe, probe.origins.isSuperset(of: origins),
                ContinuousClock.now - probe.at < ProviderReachability.pause
            {
                return probe.task
            }
            let task = Task {
                await withTaskGroup(of: Void.self) { group in
                    for origin in origins {
                        // A kept connection would only show what was.
                        group.addTask { _ = try? await line.probe(at: origin, isFresh: true) }
                    }
                }
            }
            probe = Probe(at: .now, origins: origins, task: task)
            return task
        }
    }
}
