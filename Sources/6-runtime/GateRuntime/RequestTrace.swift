// SPDX-License-Identifier: Apache-2.0

internal import GateCore
package import GateHTTP
internal import GateHeaders
internal import GateProxy
package import GateTracing
package import GateWire
package import NIOCore

/// The spans of one request: that of the request itself, and one for each time an upstream is asked; confined to its event
/// loop.
package final class RequestTrace {
    /// A request to an upstream in progress.
    private struct Attempt {
        let span: SpanID
        let began: NIODeadline
        /// How many attempts there were before.
        let resends: Int
    }

    /// The span of the request, for its children.
    package let context: TraceContext
    /// The id of the trace, if its spans are exported.
    package var exportedID: String? { self.context.isSampled ? "\(self.context.trace)" : nil }
    private let tracer: Tracer
    private let parent: TraceParent?
    private let keepsState: Bool
    private let began: NIODeadline
    /// The wall clock at `began`, in nanoseconds; 0 if nothing is exported.
    private let wallClock: UInt64
    private var rejection: Response.Rejection?
    private var attempt: Attempt?
    private var resends = 0

    /// Begins the span of a request.
    ///
    /// - Parameters:
    ///   - request: The request; a valid `traceparent` is continued, from any client.
    ///   - tracer: Where the spans go.
    ///   - began: When the request arrived.
    ///   - isTrusted: Whether the client is a trusted proxy.
    package init(of request: RequestHead, _ tracer: Tracer, began: NIODeadline, isTrusted: Bool) {
        let parent = request.message.traceParent
        let trace = parent?.trace ?? .random()
        let isSampled = tracer.sampler.samples(trace, parent: parent, isTrusted: isTrusted)
        self.tracer = tracer
        self.parent = parent
        self.context = TraceContext(trace: trace, span: .random(), isSampled: isSampled)
        // Without a valid `traceparent` the state belongs to no trace, W3C Trace Context §3.3.
        self.keepsState = parent != nil && request.message.hasForwardableTraceState
        self.began = began
        let passed = UInt64(clamping: (NIODeadline.now() - began).nanoseconds)
        let now = isSampled ? TraceSpan.now : 0
        self.wallClock = now - min(now, passed)
    }

    /// The gateway responds with a failure.
    package func note(_ rejection: Response.Rejection) { self.rejection = rejection }
}

// MARK: To the app

extension RequestTrace {
    /// The request without the client's trace context, as far as the app does not get it.
    package func forwarded(_ request: RequestHead) -> RequestHead {
        request.removing { $0.name == .traceParent || !self.keepsState && $0.name == .traceState }
    }

    /// The `traceparent` for the app: the span of the request to it.
    package var traceParent: String {
        let span = self.attempt?.span ?? self.context.span
        return TraceContext(trace: self.context.trace, span: span, isSampled: self.context.isSampled).traceParent
    }

    /// An upstream is asked for a connection.
    package func beginUpstream(at now: NIODeadline) {
        self.attempt = Attempt(span: .random(), began: now, resends: self.resends)
        self.resends += 1
    }

    /// The exchange with the upstream is over.
    ///
    /// - Parameters:
    ///   - target: The position of the target.
    ///   - route: The route of the request.
    ///   - request: The request.
    ///   - status: The status of the response; 0 if no head has come.
    ///   - failure: Why it failed; nil for the client's own cancellation, and for a complete response.
    package func endUpstream(
        _ target: Int,
        of route: RuntimeRoute,
        _ request: RequestHead,
        status: Int,
        failure: String? = nil
    ) {
        guard let attempt = self.attempt.take(), self.context.isSampled else { return }
        var span = TraceSpan(
            RequestTrace.name(of: request.method),
            .client,
            context: TraceContext(trace: self.context.trace, span: attempt.span, isSampled: true),
            parent: self.context.span,
            began: self.wallClock(at: attempt.began)
        )
        span.ended = self.wallClock(at: .now())
        span.set(.requestMethod, RequestTrace.attribute(of: request.method))
        span.set(.app, route.name)
        switch route.upstream.settings.targets[target].place {
        case .tcp(let host, let port):
            span.set(.serverAddress, host)
            span.set(.serverPort, port)
        case .unix(let path): span.set(.serverAddress, path)
        }
        if attempt.resends > 0 { span.set(.resendCount, attempt.resends) }
        if status > 0 { span.set(.responseStatus, status) }
        if let failure {
            span.fail(failure)
        } else if status >= 400 {
            span.fail("\(status)")
        } else if status == 0 {
            span.set(.errorType, "cancelled")
        }
        self.tracer.record(span)
    }
}

// MARK: The end

extension RequestTrace {
    /// Ends the span of the request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - status: The status of the response; 499 if the client did not wait for it.
    ///   - place: The app or the endpoint; nil if none has the path.
    ///   - app: The app; nil for an endpoint.
    ///   - id: The id of the request.
    ///   - isSecure: Whether it was received over TLS.
    package func end(_ request: RequestHead, status: Int, place: String?, app: String?, id: RequestID, isSecure: Bool) {
        guard self.context.isSampled else { return }
        var span = TraceSpan(
            RequestTrace.name(of: request.method, place),
            .server,
            context: self.context,
            parent: self.parent?.span,
            isParentRemote: self.parent != nil,
            began: self.wallClock
        )
        span.ended = self.wallClock(at: .now())
        span.set(.requestMethod, RequestTrace.attribute(of: request.method))
        span.set(.urlScheme, isSecure ? "https" : "http")
        span.set(.urlPath, request.isAsterisk ? "*" : request.path.text(in: request.message))
        span.set(.serverAddress, request.authority.host)
        span.set(.protocolVersion, request.isHTTP2 ? "2" : request.minorVersion == 1 ? "1.1" : "1.0")
        span.set(.responseStatus, status)
        span.set(.request, id.text)
        if let place { span.set(.route, place) }
        if let app { span.set(.app, app) }
        if let code = self.rejection?.reason.code { span.set(.code, code) }
        if let incident = self.rejection?.incident { span.set(.incident, incident) }
        if status >= 500 { span.fail(self.rejection?.reason.code ?? "\(status)") }
        self.tracer.record(span)
    }

    /// The wall clock at a moment of the request.
    private func wallClock(at moment: NIODeadline) -> UInt64 {
        self.wallClock &+ UInt64(bitPattern: (moment - self.began).nanoseconds)
    }

    private static func name(of method: RequestMethod, _ place: String? = nil) -> String {
        let name = RequestMethod.common.contains(method) ? method.rawValue : "HTTP"
        return place.map { "\(name) \($0)" } ?? name
    }

    /// A method, of which a client can invent any number.
    private static func attribute(of method: RequestMethod) -> String {
        RequestMethod.common.contains(method) ? method.rawValue : "_OTHER"
    }
}
