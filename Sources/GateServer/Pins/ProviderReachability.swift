// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateOpenID
internal import GateProviderHTTP
internal import Synchronization

/// What a new sign-in needs of the way to its provider: hosts that show a pinned key, and a connection that waits.
///
/// After a refused handshake nobody is sent to the provider until a probe has found a pinned key again; existing sessions
/// do not ask here.
final class ProviderReachability: Sendable {
    /// How long one probe's answer holds.
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

    init(of provider: String, watch: PinWatch, transports: ProviderTransports) {
        self.provider = provider
        self.watch = watch
        self.transports = transports
    }

    /// Lets a sign-in begin.
    ///
    /// - Parameter party: The code flow with the provider, which knows its hosts.
    /// - Throws: `provider.pin_mismatch` while a host that it needs shows no pinned key, and what else the pins forbid.
    func admit(_ party: RelyingParty) async throws(Failure) {
        guard self.watch.hasPins(self.provider), let line = try? self.transports.transport(to: self.provider) else {
            return
        }
        // Without metadata nobody is sent anywhere, and whoever asks for them next says why.
        let origins = ProviderHosts.needed((try? await party.called()) ?? [], party.definition)
        for origin in origins { try line.permit(origin) }
        let refused = self.watch.refusals(of: self.provider, among: origins)
        guard !refused.isEmpty else { return }
        await self.probed(Set(refused.map(\.origin)), over: line).value
        if let still = self.watch.refusals(of: self.provider, among: origins).first { throw still.failure }
    }

    /// Opens a connection to the token endpoint while the person is at the provider, unless one waits already.
    func warm(_ party: RelyingParty) async {
        guard let token = try? await party.called().first else { return }
        await (try? self.transports.transport(to: self.provider))?.warm(token.origin)
    }

    /// The probe that is under way or was made a moment ago, or a new one.
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
