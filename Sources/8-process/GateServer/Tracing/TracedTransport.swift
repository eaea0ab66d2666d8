// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateOpenID
internal import GateTracing

/// Makes a span of each call to a provider; the provider gets no trace id.
struct TracedTransport: ProviderTransport {
    private let transport: any ProviderTransport
    private let tracer: Tracer

    init(_ transport: any ProviderTransport, tracer: Tracer) {
        self.transport = transport
        self.tracer = tracer
    }

    func response(to request: ProviderRequest, provider: String) async throws(Failure) -> ProviderResponse {
        let endpoint = request.endpoint.rawValue
        guard var active = self.tracer.begin("\(request.method) \(endpoint)", .client, beginsTrace: true) else {
            return try await self.transport.response(to: request, provider: provider)
        }
        let origin = request.address.origin
        active.span.set(.requestMethod, request.method)
        active.span.set(.urlScheme, origin.scheme)
        active.span.set(.serverAddress, origin.host)
        active.span.set(.serverPort, origin.port)
        active.span.set(.provider, provider)
        active.span.set(.endpoint, endpoint)
        do throws(Failure) {
            let response = try await self.transport.response(to: request, provider: provider)
            active.span.set(.responseStatus, response.status)
            if response.status >= 400 { active.span.fail("\(response.status)") }
            self.tracer.end(active)
            return response
        } catch {
            active.span.fail(error.code)
            self.tracer.end(active)
            throw error
        }
    }
}
