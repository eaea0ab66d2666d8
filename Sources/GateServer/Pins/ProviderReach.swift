// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateOpenID
internal import GateProviderHTTP
internal import Synchronization

/// What a new sign-in needs of the way to its provider: hosts that show a pinned key, and a connection that waits.
///
/// After a refused handshake nobody is sent to the provider until a probe has found a pinned key again; existing sessions
/// do not ask here.
final class ProviderReach: Sendable {
    /// How long one probe's answer holds.
    private static let pause = Duration.seconds(10)

    private let provider: String
    private let watch: PinWatch
    private let switchboard: ProviderSwitchboard
    private let probe = Mutex<(at: ContinuousClock.Instant, task: Task<Void, Never>)?>(nil)

    init(of provider: String, watch: PinWatch, switchboard: ProviderSwitchboard) {
        self.provider = provider
        self.watch = watch
        self.switchboard = switchboard
    }

    /// Lets a sign-in begin.
    ///
    /// - Throws: `provider.pin_mismatch` while a host of the provider shows no pinned key.
    func admit() async throws(Failure) {
        guard let refused = self.watch.refusal(of: self.provider) else { return }
        await self.probed(refused.origin).value
        if let still = self.watch.refusal(of: self.provider) { throw still.failure }
    }

    /// Opens a connection to the token endpoint while the person is at the provider, unless one waits already.
    func warm(_ party: RelyingParty) async {
        guard let token = try? await party.called().first else { return }
        await (try? self.switchboard.line(to: self.provider))?.warm(token.origin)
    }

    /// The probe that is under way or was made a moment ago, or a new one.
    private func probed(_ origin: Origin) -> Task<Void, Never> {
        self.probe.withLock { probe in
            if let probe, ContinuousClock.now - probe.at < ProviderReach.pause { return probe.task }
            let task = Task { [switchboard, provider] in
                _ = try? await switchboard.line(to: provider).greeting(at: origin)
            }
            probe = (.now, task)
            return task
        }
    }
}
