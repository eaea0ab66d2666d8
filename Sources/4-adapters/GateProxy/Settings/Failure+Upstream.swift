// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GateWire

extension Failure {
    /// The failure of a request whose target failed.
    ///
    /// - Parameters:
    ///   - cause: What became of the request.
    ///   - app: The name of the app.
    ///   - target: The target.
    package init(_ cause: UpstreamFailure, of app: String, at target: UpstreamTarget) {
        let place = "\(app) at \(target)"
        switch cause {
        case .unreachable(let why):
            self.init(.upstreamUnreachable, "\(place) cannot be reached: \(why)")
        case .untrusted(let why):
            self.init(.upstreamUntrusted, "there is no TLS with \(place): \(why)")
        case .pinMismatch:
            self.init(.upstreamPinMismatch, "\(place) shows none of the pinned keys")
        case .connectTimedOut:
            self.init(.upstreamConnectTimedOut, "\(place) did not accept a connection in time")
        case .overflow:
            self.init(.upstreamOverflow, "too many requests wait for \(place)")
        case .refusedStream:
            self.init(.upstreamRefusedStream, "\(place) did not take the request")
        case .closedBeforeResponse:
            self.init(.upstreamClosed, "\(place) closed the connection without a response")
        case .closedInResponse:
            self.init(.upstreamClosedInResponse, "\(place) closed the connection in the middle of a response")
        case .timedOut:
            self.init(.upstreamTimedOut, "\(place) did not respond in time")
        case .clientDeadlineExceeded:
            self.init(.upstreamOutOfTime, "\(place) took longer than the client allowed")
        case .rejected(let rejection):
            self.init(.upstreamRefused, "\(place) did not send a valid HTTP response: \(rejection.reason.code)")
        }
    }
}
