// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateOpenID
internal import GateOperations
internal import Metrics

/// Counts the calls to providers and how long they take.
struct MeteredTransport: ProviderTransport {
    private let transport: any ProviderTransport
    private let results: ProviderCallResults

    init(_ transport: any ProviderTransport, results: ProviderCallResults) {
        self.transport = transport
        self.results = results
    }

    func response(to request: ProviderRequest, provider: String) async throws(Failure) -> ProviderResponse {
        let began = ContinuousClock.now
        do throws(Failure) {
            let response = try await self.transport.response(to: request, provider: provider)
            let isUp = response.status < 500
            if isUp {
                self.results.succeeded(provider)
            } else {
                let detail = "status \(response.status) of the endpoint \(request.endpoint.rawValue)"
                self.results.failed(provider, Failure(.providerUnavailable, detail))
            }
            self.ended(request, provider, since: began, "\(response.status / 100)xx", isUp: isUp)
            return response
        } catch {
            self.results.failed(provider, error)
            self.ended(request, provider, since: began, error.code, isUp: RelyingParty.isOutage(error) ? false : nil)
            throw error
        }
    }

    private func ended(
        _ request: ProviderRequest,
        _ provider: String,
        since began: ContinuousClock.Instant,
        _ outcome: String,
        isUp: Bool?
    ) {
        let endpoint = request.endpoint.rawValue
        ServerMetrics.providerCalls.counter(provider, endpoint, outcome).increment()
        ServerMetrics.providerCallDuration.timer(provider, endpoint)
            .recordNanoseconds(began.duration(to: .now).wholeNanoseconds)
        if let isUp { ServerMetrics.providerUp.gauge(provider).record(isUp ? 1 : 0) }
    }
}
