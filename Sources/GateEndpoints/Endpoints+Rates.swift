// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
internal import GateCore
internal import GateHTTP
internal import GateRuntime

extension Endpoints {
    /// A callback from a client whose sign-ins do not fail too often.
    ///
    /// Only a wrong request of the browser counts as a failure: neither a provider that is down nor a denied user is a
    /// sign of guessing.
    func guardedCallback(_ request: EndpointRequest, provider: String) async throws(Failure) -> Response {
        let (signIns, bounds) = (self.runtime.signIns, self.runtime.limits.signIns)
        try signIns.refuseIfFailing(request.client, within: bounds)
        try signIns.acquire(within: bounds)
        defer { signIns.release() }
        do throws(Failure) {
            return try await self.callback(request, provider: provider, response: request.callbackParameters)
        } catch {
            if error.kind == .malformedRequest { signIns.failed(request.client, within: bounds) }
            throw error
        }
    }
}
