// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateOpenID
internal import Synchronization

/// The transport to one provider during diagnostics: limits every call in time, and notes the provider's clock.
final class DiagnosticTransport: ProviderTransport {
    private let transport: any ProviderTransport
    private let clock: WallClock
    private let deadline: ContinuousClock.Instant
    private let maxDuration: Duration
    private let differences = Mutex<[Duration]>([])

    /// A transport that makes no call after `deadline`; until then one call may take `maxDuration`.
    init(_ transport: any ProviderTransport, clock: WallClock, deadline: ContinuousClock.Instant, maxDuration: Duration)
    {
        self.transport = transport
        self.clock = clock
        self.deadline = deadline
        self.maxDuration = maxDuration
    }

    /// How far their clock is ahead of ours, for each response with a date; negative if it is behind.
    var clockDifferences: [Duration] { self.differences.withLock { $0 } }

    /// How long a call that starts now may take.
    var timeLeft: Duration { min(self.maxDuration, ContinuousClock.now.duration(to: self.deadline)) }

    /// Sends a request with what is left of the time.
    func response(to request: ProviderRequest, provider: String) async throws(Failure) -> ProviderResponse {
        let timeLeft = self.timeLeft
        guard timeLeft > .zero else {
            throw Failure(.providerTimeout, "\(request.address.origin): no time was left to ask")
        }
        let bounded = ProviderRequest(
            method: request.method,
            address: request.address,
            headers: request.headers,
            body: request.body,
            limit: request.limit,
            timeout: min(request.timeout, timeLeft)
        )
        let response = try await self.transport.response(to: bounded, provider: provider)
        self.note(response)
        return response
    }

    /// Notes the time in a response that has just arrived.
    func note(_ response: ProviderResponse) {
        guard let theirs = response.clock else { return }
        let difference = theirs.since(self.clock.now)
        self.differences.withLock { $0.append(difference) }
    }
}
