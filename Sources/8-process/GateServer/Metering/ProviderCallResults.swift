// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateOpenID
internal import GateOperations
internal import Synchronization

/// How the latest calls to each provider ended, for `/status`; one entry for each provider of the file.
final class ProviderCallResults: Sendable {
    /// The latest calls to one provider.
    struct Entry: Sendable {
        /// Whether the last call got a response below 500.
        fileprivate(set) var isGood = false
        fileprivate(set) var lastSuccess: Instant?
        fileprivate(set) var lastFailure: GatewayStatus.Provider.Failed?
        fileprivate(set) var lastOutage: Instant?
    }

    private let entries = Mutex<[String: Entry]>([:])
    private let clock: WallClock

    init(clock: WallClock = .system) {
        self.clock = clock
    }

    /// A call got a response below 500.
    func succeeded(_ provider: String) {
        let now = self.clock.now
        self.entries.withLock { entries in
            entries[provider, default: Entry()].isGood = true
            entries[provider, default: Entry()].lastSuccess = now
        }
    }

    /// A call failed; one that the gateway itself cancelled does not count.
    func failed(_ provider: String, _ failure: Failure) {
        guard failure.reason != .providerCancelled, failure.reason != .providerShutDown else { return }
        let now = self.clock.now
        let detail = PrintableText.escaped(failure.detail, limit: 300)
        let failed = GatewayStatus.Provider.Failed(at: now, reason: failure.reason, detail: detail)
        self.entries.withLock { entries in
            entries[provider, default: Entry()].isGood = false
            entries[provider, default: Entry()].lastFailure = failed
            if RelyingParty.isOutage(failure) { entries[provider, default: Entry()].lastOutage = now }
        }
    }

    /// Whether the latest call to a provider has failed since it is down, within the last two minutes; after that it may have
    /// recovered.
    func isFailing(_ provider: String) -> Bool {
        guard let entry = self.entries.withLock({ $0[provider] }), !entry.isGood, let time = entry.lastOutage else {
            return false
        }
        return self.clock.now.since(time) < .seconds(120)
    }

    /// Forgets the providers that are not in the file any more.
    func keepOnly(_ providers: some Collection<String>) {
        self.entries.withLock { entries in entries = entries.filter { providers.contains($0.key) } }
    }

    /// Adds them to the state of a provider.
    func add(to status: inout GatewayStatus.Provider) {
        guard let entry = self.entries.withLock({ $0[status.name] }) else { return }
        status.state = entry.isGood ? .ok : .failing
        status.lastSuccess = entry.lastSuccess
        status.lastFailure = entry.lastFailure
    }
}
