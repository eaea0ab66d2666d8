// SPDX-License-Identifier: Apache-2.0

internal import CProviderTransport
package import GateCore
package import GateOpenID
internal import Synchronization

/// Reaches one provider through libcurl: verified TLS, pins, no redirects, no proxy but the one that was asked for,
/// bounded in time and bytes.
///
/// A separate thread drives all calls; nothing is shared with other providers, so that one can neither respond for
/// another nor slow it down. This is the file that faces C: a pointer to the C transport and one to the table of
/// callers live here, and nowhere else.
@safe package final class CurlTransport: Sendable {
    private let provider: String
    private let pinning: Pinning?
    private let observe: @Sendable (PinnedHandshake) -> Void
    private let allowsPlainHTTP: Bool
    /// The file of the certificate that is shown to hosts; nil for none.
    private let shown: String?
    private let callers: PendingCalls
    private let lastResponses = Mutex<[Origin: ContinuousClock.Instant]>([:])
    nonisolated(unsafe) private let engine: OpaquePointer

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - provider: The provider's name, for what is observed.
    ///   - trust: The trusted certificates, pins and proxy.
    ///   - connections: How many connections there may be, and so how many calls at a time.
    ///   - allowsPlainHTTP: Whether another machine may be reached without TLS: for what is not a provider.
    ///   - publicOnly: Whether only addresses of the internet are connected to: for hosts that others name.
    ///   - clock: The clock for the expiry of pins.
    ///   - observe: Called with each handshake with a host that has pins, on the caller's task.
    /// - Throws: A `Failure` if the libcurl at hand is not the OpenSSL flavour, or the system is out of resources.
    package init(
        to provider: String,
        trust: ProviderTrust,
        connections: Int = 16,
        allowsPlainHTTP: Bool = false,
        publicOnly: Bool = false,
        clock: WallClock = .system,
        observe: @escaping @Sendable (PinnedHandshake) -> Void = { _ in }
    ) throws(Failure) {
        if let reason = unsafe gate_transport_unusable_reason() {
            throw Failure(.transportUnsupportedLibrary, unsafe String(cString: reason))
        }
        let callers = PendingCalls()
        let context = unsafe Unmanaged.passRetained(callers)
        guard let engine = unsafe gate_transport_create(CurlTransport.completion, context.toOpaque()) else {
            unsafe context.release()
            throw Failure(.transportNoResources, "no memory or descriptors for provider calls")
        }
        self.provider = provider
        self.allowsPlainHTTP = allowsPlainHTTP
        self.shown = trust.certificate?.file
        self.pinning = trust.pins.map { Pinning($0, clock: clock) }
        self.observe = observe
        self.callers = callers
        unsafe self.engine = engine
        unsafe gate_transport_connections(engine, max(1, connections))
        if publicOnly { unsafe gate_transport_public_only(engine) }
        var isReady = trust.authorities.map { unsafe gate_transport_trust(engine, $0, $0.count) != 0 } ?? true
        if let own = trust.certificate {
            let isShown = own.key.withBytes { key in
                unsafe gate_transport_present(engine, own.chain, own.chain.count, Array(key), key.count) != 0
            }
            isReady = isShown && isReady
        }
        isReady = trust.proxy.map { unsafe gate_transport_tunnel(engine, "\($0)") != 0 } ?? true && isReady
        for set in self.pinning?.sets ?? [] {
            let bytes = set.pins.flatMap(\.bytes)
            isReady = unsafe gate_transport_pin(engine, set.match.lent, bytes, set.pins.count) != 0 && isReady
        }
        guard isReady, unsafe gate_transport_start(engine) != 0 else {
            throw Failure(.transportNoResources, "no memory or thread for provider calls")
        }
    }

    deinit {
        unsafe gate_transport_stop(self.engine)
        unsafe gate_transport_destroy(self.engine)
        unsafe Unmanaged.passUnretained(self.callers).release()
    }

    /// Ends every call with `provider.shut_down` and refuses new ones; returns when the thread has ended.
    package func shutdown() {
        unsafe gate_transport_stop(self.engine)
    }

    /// Makes one call; a cancelled task gets `provider.cancelled` at once, and the transfer ends.
    ///
    /// - Parameter request: The call, `GET`, `POST` or `HEAD`.
    /// - Returns: The response, whatever the status.
    /// - Throws: A `Failure` whose detail names the host.
    package func response(to request: ProviderRequest) async throws(Failure) -> ProviderResponse {
        try await self.ending(of: request).response(from: request.address.origin)
    }

    /// Calls `HEAD /` and returns the verified chain and the head of the response.
    ///
    /// - Parameters:
    ///   - origin: The host to ask; nothing secret is sent to it.
    ///   - timeout: How long the exchange may take.
    ///   - isFresh: Whether a new connection is made, to see what the host shows now.
    /// - Returns: The chain, empty over plain http, and the response without its body.
    /// - Throws: A `Failure` as for every other call; a chain that is not trusted is never shown.
    package func probe(
        at origin: Origin,
        timeout: Duration = .seconds(5),
        isFresh: Bool = false
    ) async throws(Failure) -> HostProbe {
        let request = ProviderRequest(
            method: "HEAD",
            address: WebURL(origin: origin),
            headers: [],
            body: nil,
            limit: 0,
            timeout: timeout
        )
        return try await self.ending(of: request, look: isFresh ? .fresh : .atChain).probe(from: origin)
    }

    /// The certificates that a host shows now, leaf first and trusted root last; empty over plain http.
    package func chain(at origin: Origin) async throws(Failure) -> [ProviderCertificate] {
        try await self.probe(at: origin, isFresh: true).certificates
    }

    /// That a call to a host could be made at all, as far as its pins decide before it is asked.
    ///
    /// - Throws: `provider.pins_expired`, `provider.pin_missing` or `provider.pin_insecure`.
    package func permit(_ origin: Origin) throws(Failure) {
        _ = try self.pinning?.rule(for: origin)
    }

    /// Opens a connection for the next call, unless there was a response within `moment`.
    ///
    /// - Parameters:
    ///   - origin: The host; nothing is done for plain http.
    ///   - moment: How long a connection is taken to last, less than what libcurl and most servers keep one for.
    package func warm(_ origin: Origin, unlessUsedWithin moment: Duration = .seconds(50)) async {
        let now = ContinuousClock.now
        let isCold = self.lastResponses.withLock { lastResponses in
            if let last = lastResponses[origin], now - last < moment { return false }
            // Concurrent callers skip this.
            CurlTransport.note(origin, at: now, &lastResponses)
            return true
        }
        guard isCold, origin.isSecure else { return }
        _ = try? await self.probe(at: origin)
    }

    private func ending(of request: ProviderRequest, look: Look = .away) async throws(Failure) -> CallResult {
        let origin = request.address.origin
        let pins = try self.pinning?.rule(for: origin)
        let call = try OutgoingCall(request, allowsPlainHTTP: self.allowsPlainHTTP)
        let id = self.callers.newID()
        var ending = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                self.callers.insert(continuation, id: id)
                self.submit(call, id: id, pins: pins, look: look)
            }
        } onCancel: {
            unsafe gate_transport_cancel(self.engine, id)
        }
        ending.shown = self.shown
        if let pins, ending.verdict != .notChecked { self.observe(ending.handshake(self.provider, origin, pins)) }
        if ending.outcome == .completed { self.lastResponses.withLock { CurlTransport.note(origin, at: .now, &$0) } }
        return ending
    }

    /// Hosts come from the provider's documents, so there is a bound to how many are kept in mind.
    private static func note(
        _ origin: Origin,
        at now: ContinuousClock.Instant,
        _ lastResponses: inout [Origin: ContinuousClock.Instant]
    ) {
        if lastResponses.count >= 64 { lastResponses.removeAll() }
        lastResponses[origin] = now
    }

    /// What a call wants to see of the host's certificates.
    private enum Look {
        case away
        case atChain
        /// At the chain of a new connection.
        case fresh
    }

    private func submit(_ call: OutgoingCall, id: UInt64, pins: PinRule?, look: Look) {
        let terms = gate_terms(
            limit: call.limit,
            timeout_milliseconds: call.timeoutMilliseconds,
            pin_set: pins.map { Int64($0.number) } ?? -1,
            enforces_pins: pins?.isEnforced == true ? 1 : 0,
            wants_chain: look == .away ? 0 : 1,
            wants_handshake: look == .fresh ? 1 : 0,
        )
        let outcome = unsafe gate_transport_submit(
            self.engine,
            id,
            call.method,
            call.address,
            call.host,
            call.head,
            call.body ?? [],
            call.body.map { Int64($0.count) } ?? -1,
            terms,
        )
        if outcome != GATE_COMPLETED {
            self.callers.end(id, with: CallResult(outcome: CallResult.Outcome(outcome)))
        } else if Task.isCancelled {
            // The handler may have run before the call was there to be cancelled.
            unsafe gate_transport_cancel(self.engine, id)
        }
    }

    /// Runs on the transport's thread; copies what C lends.
    private static let completion: gate_completion = { context, result in
        let callers = unsafe Unmanaged<PendingCalls>.fromOpaque(context).takeUnretainedValue()
        let result = unsafe result.pointee
        let head = unsafe UnsafeBufferPointer(start: result.head, count: result.head_length)
        let body = unsafe UnsafeBufferPointer(start: result.body, count: result.body_length)
        let certificates = unsafe UnsafeBufferPointer(start: result.certificates, count: result.certificate_count)
        let ending = unsafe CallResult(
            outcome: CallResult.Outcome(result.outcome),
            tlsFailure: TLSFailure(result.failure),
            status: result.status,
            head: Array(head),
            body: Array(body),
            text: String(cString: result.text),
            certificates: certificates.map { unsafe ProviderCertificate($0) },
            verdict: unsafe PinVerdict(result),
        )
        unsafe callers.end(result.id, with: ending)
    }
}

extension ProviderCertificate {
    /// Copies what C lends.
    fileprivate init(_ lent: gate_certificate) {
        unsafe self.init(
            subject: String(cString: lent.subject),
            issuer: String(cString: lent.issuer),
            notBefore: Instant(seconds: lent.not_before),
            notAfter: Instant(seconds: lent.not_after),
            publicKeyPin: unsafe Pin(lent: lent.key_hash),
            certificatePin: unsafe Pin(lent: lent.certificate_hash),
        )
    }
}

extension Pin {
    fileprivate init?(lent bytes: UnsafePointer<UInt8>) {
        unsafe self.init(Array(UnsafeBufferPointer(start: bytes, count: Pin.length)))
    }
}

extension PinSet.Match {
    fileprivate var lent: gate_pin_match {
        switch self {
        case .publicKey: GATE_PIN_PUBLIC_KEY
        case .certificate: GATE_PIN_CERTIFICATE
        case .chain: GATE_PIN_CHAIN
        }
    }
}

extension PinVerdict {
    fileprivate init(_ result: gate_result) {
        switch unsafe result.pins {
        case GATE_PIN_MATCHED: self = unsafe .matched(pin: result.pin, position: result.pin_position)
        case GATE_PIN_MISMATCHED: self = .mismatched
        default: self = .notChecked
        }
    }
}

extension TLSFailure {
    fileprivate init(_ failure: gate_tls_failure) {
        switch failure {
        case GATE_TLS_EXPIRED: self = .expired
        case GATE_TLS_NOT_YET_VALID: self = .notYetValid
        case GATE_TLS_UNKNOWN_ISSUER: self = .unknownIssuer
        case GATE_TLS_SELF_SIGNED: self = .selfSigned
        case GATE_TLS_WRONG_HOST: self = .wrongHost
        case GATE_TLS_WEAK: self = .weak
        case GATE_TLS_OLD_PROTOCOL: self = .oldProtocol
        case GATE_TLS_NOT_SPOKEN: self = .notSpoken
        case GATE_TLS_TRUST_FILE: self = .trustFile
        case GATE_TLS_CHAIN_TOO_LARGE: self = .chainTooLarge
        case GATE_TLS_WRONG_PURPOSE: self = .wrongPurpose
        case GATE_TLS_PIN: self = .pin
        case GATE_TLS_UNPROVEN: self = .unproven
        case GATE_TLS_CLIENT_CERTIFICATE: self = .clientCertificate
        default: self = .other
        }
    }
}

extension CallResult.Outcome {
    fileprivate init(_ outcome: gate_outcome) {
        switch outcome {
        case GATE_COMPLETED: self = .completed
        case GATE_TIMED_OUT: self = .timedOut
        case GATE_UNREACHABLE: self = .unreachable
        case GATE_TLS_FAILED: self = .tlsFailed
        case GATE_CONNECTION_LOST: self = .connectionLost
        case GATE_BODY_TOO_LARGE: self = .bodyTooLarge
        case GATE_HEAD_TOO_LARGE: self = .headTooLarge
        case GATE_CANCELLED: self = .cancelled
        case GATE_SHUT_DOWN: self = .shutDown
        case GATE_QUEUE_FULL: self = .queueFull
        case GATE_OUT_OF_MEMORY: self = .outOfMemory
        case GATE_PROXY_REFUSED: self = .proxyRefused
        case GATE_QUEUE_TIMED_OUT: self = .queueTimedOut
        default: self = .malformed
        }
    }
}

extension CurlTransport {
    /// The versions of libcurl and of its TLS library, such as `libcurl/8.14.1 OpenSSL/3.0.17`.
    package static var libraryVersions: String { unsafe String(cString: gate_transport_library_versions()) }
}
