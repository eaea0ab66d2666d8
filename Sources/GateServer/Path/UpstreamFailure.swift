// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProxy
internal import GateWire

extension Failure {
    /// What a problem with an app's target means for its visitors.
    init(_ problem: UpstreamFailure, of app: String, at target: UpstreamAddress) {
        let place = "\(app) at \(target)"
        switch problem {
        case .unreachable(let why):
            self.init(.upstreamFailed, "upstream.unreachable", "\(place) cannot be reached: \(why)")
        case .untrusted(let why):
            self.init(.upstreamFailed, "upstream.untrusted", "there is no TLS with \(place): \(why)")
        case .pinMismatch:
            self.init(.upstreamFailed, "upstream.pin_mismatch", "\(place) shows none of the pinned keys")
        case .connectTimedOut:
            self.init(.upstreamTimedOut, "upstream.connect_timed_out", "\(place) did not accept a connection in time")
        case .overflow:
            self.init(.overloaded, "upstream.overflow", "too many requests wait for \(place)")
        case .refusedStream:
            self.init(.upstreamFailed, "upstream.refused_stream", "\(place) did not take the request")
        case .closedBeforeResponse:
            self.init(.upstreamFailed, "upstream.closed", "\(place) closed the connection without an answer")
        case .closedInResponse:
            self.init(.upstreamFailed, "upstream.cut", "\(place) closed the connection in the middle of an answer")
        case .timedOut:
            self.init(.upstreamTimedOut, "upstream.timed_out", "\(place) did not answer in time")
        case .clientDeadlineExceeded:
            self.init(.upstreamTimedOut, "upstream.out_of_time", "\(place) took longer than the client allowed")
        case .rejected(let refusal):
            self.init(.upstreamFailed, "upstream.refused", "\(place) sent what is no HTTP answer: \(refusal.reason)")
        }
    }
}
