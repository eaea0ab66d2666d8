// SPDX-License-Identifier: Apache-2.0

internal import GateHeaders
internal import GateProxy
internal import GateWire

extension UpstreamRequest {
    /// Takes what only HTTP/2 carries from a request.
    mutating func take(_ request: RequestHead) {
        let message = request.message
        self.takesTrailers = message.first(.te).map { message.spells($0.valueRange, "trailers") } ?? false
        guard GRPC.isCall(request) else { return }
        // A gRPC call uses HTTP/2 on both sides, and its response has trailers.
        self.takesTrailers = true
        self.budget = GRPC.timeout(of: request)
    }
}
