// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateHeaders
internal import GateOperations
internal import GateRuntime
internal import GateWire
internal import NIOCore

/// One request on its way through the gateway, with all that was found out about it; confined to its event loop.
///
/// Whatever a step, the log, a page, a renewal or a tunnel needs is found once and read from here.
final class IngressRequest {
    /// The checked head of what is decided about: the client's own, or that of which a proxy asks.
    let head: RequestHead
    /// The configuration in force at its start, which holds until its end.
    let runtime: RuntimeConfiguration
    /// The connection over which it came.
    let source: RequestSource
    /// The same as the app sees it.
    let downstream: ForwardedHead.Downstream
    /// Who asks for the decision.
    let asker: Asker
    /// When its head had arrived.
    let began: NIODeadline
    /// Whether the network of the client may admit it; not where the session of a user has to go on.
    let admitsNetworks: Bool
    private let ids: RequestIDSource

    /// When it was decided about last, and the wall clock then.
    private(set) var tick: NIODeadline
    private(set) var now: Instant
    /// What the certificate of the client meant then; nil if nothing asks for one.
    private(set) lazy var certificate = self.presentedCertificate

    /// What the latest look-up has led to; nil if nothing was looked up, or too long ago to count.
    private(set) var lookedUp: LookedUp?
    /// What became of the proof that its sender has a key.
    private(set) var proof: Proof
    /// The messages to an MCP server in its body, as far as that was read.
    private(set) var messages = MessageReading.unread

    /// Who sends it, as it was decided last.
    private(set) var caller = Caller.unasked
    /// The rule that has decided, where that depends on the request.
    private var requestRule: RulePlace?

    /// How far it came, for metrics of rejections.
    var progress = Progress.begun
    /// Its spans; nil while tracing is off.
    var trace: RequestTrace?
    /// For its access line; nil if those are off.
    var record: AccessRecord?

    /// The route, by host and canonical path; nil if no app has them.
    private(set) lazy var route = self.runtime.route(of: self.head)

    /// The id: a trusted proxy's, or a new one, made when it is first needed.
    private(set) lazy var id: RequestID = ForwardedHead.requestID(
        of: self.head,
        downstream: self.downstream,
        fresh: self.ids.next()
    )

    /// A request that has arrived.
    convenience init(_ head: RequestHead, over source: RequestSource, on loop: LoopState) {
        self.init(head, over: source, under: loop.runtime, ids: loop.requestIDs, at: (loop.tick, loop.now))
    }

    /// A request that has arrived.
    ///
    /// - Parameters:
    ///   - head: The checked head.
    ///   - source: The connection.
    ///   - runtime: The configuration in force, which the connection has adopted.
    ///   - ids: Makes its id.
    ///   - time: When it arrived, and the wall clock then.
    init(
        _ head: RequestHead,
        over source: RequestSource,
        under runtime: RuntimeConfiguration,
        ids: RequestIDSource,
        at time: (tick: NIODeadline, now: Instant)
    ) {
        self.head = head
        self.runtime = runtime
        self.source = source
        self.downstream = source.downstream
        self.asker = .client
        self.began = time.tick
        self.admitsNetworks = true
        self.ids = ids
        (self.tick, self.now) = time
        self.proof = .due
    }

    /// The request of a proxy that asks in another one, once it is known what it asks.
    init(_ head: RequestHead, by asker: Asker, in question: IngressRequest) {
        self.head = head
        self.runtime = question.runtime
        self.source = question.source
        self.downstream = question.downstream
        self.asker = asker
        self.began = question.began
        self.admitsNetworks = true
        self.ids = question.ids
        (self.tick, self.now) = (question.tick, question.now)
        self.proof = .due
        (self.trace, self.record) = (question.trace, question.record)
    }

    /// A request that was admitted, to be decided about again under the configuration that is in force now.
    init(again request: IngressRequest, on loop: LoopState, admitsNetworks: Bool) {
        request.source.adopt(loop.runtime)
        self.head = request.head
        self.runtime = loop.runtime
        self.source = request.source
        self.downstream = request.source.downstream
        self.asker = request.asker
        self.began = request.began
        self.admitsNetworks = admitsNetworks
        self.ids = request.ids
        (self.tick, self.now) = (loop.tick, loop.now)
        // It was spent when the request came.
        self.proof = .settled
    }

    /// Who asks for a decision.
    enum Asker {
        /// The client itself, which is forwarded.
        case client
        /// Envoy, in a message of gRPC that describes no request.
        case check
        /// A proxy that forwards the request; Envoy's check is a message of gRPC.
        case proxy(ForwardAuthRequest, isCheck: Bool)
    }

    /// How far a request came.
    enum Progress {
        case begun
        /// Its caller was looked up.
        case lookedUp
        /// An endpoint of the gateway responds.
        case atEndpoint
        /// An endpoint responds to what is for an app: the sign-in begins at once.
        case inPlaceOfApp
        /// It was given to the app.
        case forwarded
    }

    /// What became of a proof, RFC 9449.
    enum Proof {
        /// It has to be spent, if the token needs one.
        case due
        /// It was valid, or none is asked for any more.
        case settled
        case rejected(Failure)
    }
}

// MARK: What was found out

extension IngressRequest {
    /// Notes who sends it, and the rule that has decided about this request alone.
    func note(_ caller: Caller, _ rule: RulePlace?) {
        self.caller = caller
        if rule != nil || self.requestRule != nil { self.requestRule = rule }
    }

    /// Notes what became of the proof, which is spent once.
    func note(proof: Proof) { self.proof = proof }

    /// Notes the time and what a look-up has led to, after a wait.
    ///
    /// Nil after a wait for something else, so that what the caches have lost meanwhile is looked up again.
    func resume(on loop: LoopState, after lookedUp: LookedUp?) {
        loop.advance(to: .now())
        self.resume(at: (loop.tick, loop.now), after: lookedUp)
    }

    /// The same at a time.
    func resume(at time: (tick: NIODeadline, now: Instant), after lookedUp: LookedUp?) {
        self.lookedUp = lookedUp
        (self.tick, self.now) = time
        self.certificate = self.presentedCertificate
    }

    /// Notes the messages in its body.
    func note(_ messages: MessageReading) { self.messages = messages }

    private var presentedCertificate: RequestCertificate? {
        guard let policy = self.source.certificatePolicy else { return nil }
        return self.source.certificates.certificate(
            of: self.head,
            under: policy,
            from: CertificateSource.Peer(isTrusted: self.downstream.isTrusted, asking: self.asked?.asking),
            at: self.now
        )
    }
}

// MARK: What follows from it

extension IngressRequest {
    var host: String { self.head.authority.host }

    /// What a proxy asks; nil for the client's own request.
    var asked: ForwardAuthRequest? {
        guard case .proxy(let asked, _) = self.asker else { return nil }
        return asked
    }

    /// Whether the response goes to Envoy as a message of gRPC.
    var isCheck: Bool {
        switch self.asker {
        case .check, .proxy(_, isCheck: true): true
        case .client, .proxy: false
        }
    }

    /// What TLS negotiated for the client's own request; the connection of a proxy that asks is not that of its client.
    var tls: NegotiatedTLS? { self.asked == nil ? self.source.tls : nil }

    /// The rule that has decided.
    var rule: RulePlace? {
        if let requestRule { return requestRule }
        if case .network(let place) = self.caller { return place }
        return self.route.flatMap { self.caller.session?.rule(on: $0) }
    }

    /// The kind of the client, for responses of the gateway.
    var clientKind: ClientKind {
        var kind = ClientKind(self.head)
        kind.request = self.id.text
        return kind
    }

    /// The client IP, behind trusted proxies that of the client before them.
    var clientText: String {
        let before = self.downstream.isTrusted ? self.namedClient : nil
        return before?.text ?? self.source.peerText
    }

    /// The client IP for rules about networks; nil if it is not known, which matches no rule.
    var ruledClient: IPAddress? {
        guard self.downstream.isTrusted else {
            // The peer is the client, but for a proxy that asks and is not trusted to name that.
            return self.asked == nil ? self.source.peer : nil
        }
        return ForwardedHead.namedClient(of: self.head, trusting: self.runtime.front.trustedProxies)
    }

    private var namedClient: IPAddress? {
        ForwardedHead.client(of: self.head, downstream: self.downstream, trusting: self.runtime.front.trustedProxies)
    }

    /// Whether an endpoint of the gateway responds.
    var isAtEndpoint: Bool { self.progress == .atEndpoint || self.progress == .inPlaceOfApp }

    /// Whether it is a gRPC call of an app that speaks HTTP/2; the content type alone proves nothing.
    var isCall: Bool { GRPC.isCall(self.head) && self.route?.speaksHTTP2 == true }

    /// Whether a page of an origin may write to what it is for, in every reading of its path.
    func admitsPage(of origin: String, on route: RuntimeRoute) -> Bool {
        SpellingCheck(runtime: self.runtime, route: route).holdsInEveryReading(of: self.head) { path, isDecoded in
            route.admitsWrite(from: origin, to: path, isDecoded: isDecoded)
        }
    }

    /// Counts a response to it as one of a route.
    func count(_ status: Int, of route: RuntimeRoute, by telemetry: LoopTelemetry, at now: NIODeadline = .now()) {
        telemetry.counters(of: route).responded(
            status,
            nanoseconds: (now - self.began).nanoseconds,
            at: Int64(clamping: now.uptimeNanoseconds),
            request: { (self.id.text, self.trace?.exportedID) }
        )
    }
}
