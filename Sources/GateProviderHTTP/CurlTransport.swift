// SPDX-License-Identifier: Apache-2.0

internal import CProviderTransport
package import GateCore
package import GateOpenID
internal import Synchronization

/// Reaches providers through libcurl: verified TLS, no redirects, no proxy, bounded in time and bytes.
///
/// One thread of its own drives all calls; each provider has connections and trusted certificates of its own, so that
/// one provider can neither answer for another nor slow it down. This is the file that faces C: a pointer to the
/// C transport and one to the table of callers live here, and nowhere else.
@safe package final class CurlTransport: ProviderTransport {
    private let pools: [String: Int]
    private let callers: CallTable
    nonisolated(unsafe) private let engine: OpaquePointer

    /// Starts the thread.
    ///
    /// - Parameter trust: For each provider's id, the PEM file with the only certificates to trust, nil for the
    ///   system's.
    /// - Throws: A `Failure` if the libcurl at hand is not the OpenSSL flavour, or the system is out of resources.
    package init(trust: [String: String?]) throws(Failure) {
        if let obstacle = unsafe gate_transport_obstacle() {
            throw Failure(.internalFault, "transport.unsupported_library", unsafe String(cString: obstacle))
        }
        let callers = CallTable()
        let context = unsafe Unmanaged.passRetained(callers)
        let engine = unsafe gate_transport_create(trust.count, CurlTransport.completion, context.toOpaque())
        guard let engine = unsafe engine else {
            unsafe context.release()
            throw Failure(.internalFault, "transport.no_resources", "no memory or descriptors for provider calls")
        }
        self.callers = callers
        unsafe self.engine = engine
        self.pools = Dictionary(uniqueKeysWithValues: zip(trust.keys.sorted(), 0...))
        var ready = true
        for (id, pool) in self.pools {
            guard case .some(.some(let file)) = trust[id] else { continue }
            ready = unsafe gate_transport_trust(engine, pool, file) != 0 && ready
        }
        guard ready, unsafe gate_transport_start(engine) != 0 else {
            throw Failure(.internalFault, "transport.no_resources", "no thread for provider calls")
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
    /// - Parameters:
    ///   - request: The call, `GET` or `POST`.
    ///   - provider: An id that the transport was made with.
    /// - Returns: What the provider answered, whatever the status.
    /// - Throws: A `Failure` whose code says how the call failed and whose detail names the host.
    package func response(to request: ProviderRequest, provider: String) async throws(Failure) -> ProviderResponse {
        try await self.ending(of: request, provider: provider).response(from: request.address.origin)
    }

    /// Calls `GET /` and says who answers: the verified chain and the head of the answer.
    ///
    /// - Parameters:
    ///   - origin: The host to ask; nothing secret is sent to it.
    ///   - provider: An id that the transport was made with, which decides about trust.
    ///   - timeout: How long the exchange may take.
    /// - Returns: The chain, empty over plain http, and the answer without its body.
    /// - Throws: A `Failure` as for every other call; a chain that is not trusted is never shown.
    package func greeting(
        at origin: Origin,
        provider: String,
        timeout: Duration = .seconds(5)
    ) async throws(Failure) -> ProviderGreeting {
        let request = ProviderRequest(
            method: "GET",
            address: WebAddress(origin: origin),
            headers: [],
            body: nil,
            limit: 0,
            timeout: timeout
        )
        return try await self.ending(of: request, provider: provider, wantsChain: true).greeting(from: origin)
    }

    /// The certificates that a host was verified with, leaf first and trusted root last; empty over plain http.
    package func chain(at origin: Origin, provider: String) async throws(Failure) -> [ProviderCertificate] {
        try await self.greeting(at: origin, provider: provider).certificates
    }

    private func ending(
        of request: ProviderRequest,
        provider: String,
        wantsChain: Bool = false
    ) async throws(Failure) -> CallEnding {
        guard let pool = self.pools[provider] else {
            throw Failure(.internalFault, "provider.unknown", "no connections were set up for \(provider)")
        }
        let call = try OutgoingCall(request)
        let id = self.callers.newID()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                self.callers.insert(continuation, id: id)
                self.submit(call, pool: pool, id: id, wantsChain: wantsChain)
            }
        } onCancel: {
            unsafe gate_transport_cancel(self.engine, id)
        }
    }

    private func submit(_ call: OutgoingCall, pool: Int, id: UInt64, wantsChain: Bool) {
        let outcome = unsafe gate_transport_submit(
            self.engine,
            pool,
            id,
            call.method,
            call.address,
            call.head,
            call.body ?? [],
            call.body.map { Int64($0.count) } ?? -1,
            call.limit,
            call.timeoutMilliseconds,
            wantsChain ? 1 : 0,
        )
        if outcome != GATE_ANSWERED {
            self.callers.end(id, with: CallEnding(reason: CallEnding.Reason(outcome)))
        } else if Task.isCancelled {
            // The handler may have run before the call was there to be cancelled.
            unsafe gate_transport_cancel(self.engine, id)
        }
    }

    /// Runs on the transport's thread; copies what C lends.
    private static let completion: gate_completion = { context, result in
        let callers = unsafe Unmanaged<CallTable>.fromOpaque(context).takeUnretainedValue()
        let result = unsafe result.pointee
        let head = unsafe UnsafeBufferPointer(start: result.head, count: result.head_length)
        let body = unsafe UnsafeBufferPointer(start: result.body, count: result.body_length)
        let certificates = unsafe UnsafeBufferPointer(start: result.certificates, count: result.certificate_count)
        let ending = unsafe CallEnding(
            reason: CallEnding.Reason(result.outcome),
            fault: TLSFault(result.fault),
            status: result.status,
            head: Array(head),
            body: Array(body),
            text: String(cString: result.text),
            certificates: certificates.map { unsafe ProviderCertificate($0) },
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
            der: Array(UnsafeBufferPointer(start: lent.der, count: lent.der_length)),
            publicKeyHash: Array(UnsafeBufferPointer(start: lent.key_hash, count: 32)),
        )
    }
}

extension TLSFault {
    fileprivate init(_ fault: gate_tls_fault) {
        switch fault {
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
        default: self = .other
        }
    }
}

extension CallEnding.Reason {
    fileprivate init(_ outcome: gate_outcome) {
        switch outcome {
        case GATE_ANSWERED: self = .answered
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
        default: self = .malformed
        }
    }
}
