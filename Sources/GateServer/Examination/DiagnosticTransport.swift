// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateOpenID
internal import Synchronization

/// The way to one provider while it is examined: ends every call in time, and notes what its clock shows.
final class DiagnosticTransport: ProviderTransport {
    private let transport: any ProviderTransport
    private let clock: WallClock
    private let deadline: ContinuousClock.Instant
    private let longest: Duration
    private let differences = Mutex<[Duration]>([])

    /// A way that closes at `deadline`; until then one call may take `longest`.
    init(_ transport: any ProviderTransport, clock: WallClock, deadline: ContinuousClock.Instant, longest: Duration) {
        self.transport = transport
        self.clock = clock
        self.deadline = deadline
        self.longest = longest
    }

    /// How far their clock is ahead of ours, for each answer that told; negative if it is behind.
    var clockDifferences: [Duration] { self.differences.withLock { $0 } }

    /// How long a call that starts now may take.
    var patience: Duration { min(self.longest, ContinuousClock.now.duration(to: self.deadline)) }

    /// Sends a request with what is left of the time.
    func response(to request: ProviderRequest, provider: String) async throws(Failure) -> ProviderResponse {
        let patience = self.patience
        guard patience > .zero else {
            throw Failure(.providerTimeout, "\(request.address.origin): no time was left to ask")
        }
        let bounded = ProviderRequest(
            method: request.method,
            address: request.address,
            headers: request.headers,
            body: request.body,
            limit: request.limit,
            timeout: min(request.timeout, patience)
        )
        let response = try await self.transport.response(to: bounded, provider: provider)
        self.note(response)
        return response
    }

    /// Notes what an answer that came just now tells of the time.
    func note(_ response: ProviderResponse) {
        guard let theirs = HTTPDate.clock(of: response) else { return }
        let difference = theirs.since(self.clock.now)
        self.differences.withLock { $0.append(difference) }
    }
}
