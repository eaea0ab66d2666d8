// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateOpenID
internal import Synchronization

/// The ways to all providers, by name; whom one of them trusts can be exchanged while calls are under way.
///
/// A new trust holds for every call that begins after ``connect(_:over:)``, whoever makes it: that call gets a connection
/// of its own, and the connections made before are closed when the calls on them have ended.
package final class ProviderTransports: ProviderTransport {
    private let lines = Mutex<[String: CurlTransport]>([:])

    /// A board with the ways to these providers.
    package init(_ lines: [String: CurlTransport] = [:]) {
        for (provider, line) in lines { self.connect(provider, over: line) }
    }

    /// Adds or exchanges one way.
    package func connect(_ provider: String, over line: CurlTransport) {
        // The last reference to a transport waits for its thread, which should not happen under the lock.
        let old = self.lines.withLock { $0.updateValue(line, forKey: provider) }
        withExtendedLifetime(old) {}
    }

    /// Removes one way; calls under way over it go on.
    package func disconnect(_ provider: String) {
        let old = self.lines.withLock { $0.removeValue(forKey: provider) }
        withExtendedLifetime(old) {}
    }

    /// The way to a provider.
    package func line(to provider: String) throws(Failure) -> CurlTransport {
        guard let line = self.lines.withLock({ $0[provider] }) else {
            throw Failure(.providerUnknown, "no connections were set up for \(provider)")
        }
        return line
    }

    /// Ends every call with `provider.shut_down` and refuses new ones.
    package func shutdown() {
        for line in self.lines.withLock({ Array($0.values) }) { line.shutdown() }
    }

    /// Makes one call over the provider's own connections.
    package func response(to request: ProviderRequest, provider: String) async throws(Failure) -> ProviderResponse {
        try await self.line(to: provider).response(to: request)
    }
}
