// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateOpenID
internal import Synchronization

/// The transports of all providers, by name; one can be replaced while calls are in progress.
///
/// Every call that begins after ``connect(_:over:)`` uses the new transport and its connections; connections of the old
/// one are closed when their calls have ended.
package final class ProviderTransports: ProviderTransport {
    private let transports = Mutex<[String: CurlTransport]>([:])

    /// Creates a set of transports.
    package init(_ transports: [String: CurlTransport] = [:]) {
        for (provider, transport) in transports { self.connect(provider, over: transport) }
    }

    /// Adds or replaces a transport.
    package func connect(_ provider: String, over transport: CurlTransport) {
        // The last reference to a transport waits for its thread, which should not happen under the lock.
        let old = self.transports.withLock { $0.updateValue(transport, forKey: provider) }
        withExtendedLifetime(old) {}
    }

    /// Removes a transport; its calls in progress continue.
    package func disconnect(_ provider: String) {
        let old = self.transports.withLock { $0.removeValue(forKey: provider) }
        withExtendedLifetime(old) {}
    }

    package func transport(to provider: String) throws(Failure) -> CurlTransport {
        guard let transport = self.transports.withLock({ $0[provider] }) else {
            throw Failure(.providerUnknown, "no connections were set up for \(provider)")
        }
        return transport
    }

    /// Ends every call with `provider.shut_down` and refuses new ones.
    package func shutdown() {
        for transport in self.transports.withLock({ Array($0.values) }) { transport.shutdown() }
    }

    /// Makes one call over the provider's own connections.
    package func response(to request: ProviderRequest, provider: String) async throws(Failure) -> ProviderResponse {
        try await self.transport(to: provider).response(to: request)
    }
}
