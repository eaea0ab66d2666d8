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
        guard let pool = self.pools[provider] else {
            throw Failure(.internalFault, "provider.unknown", "no connections were set up for \(provider)")
        }
        let call = try OutgoingCall(request)
        let id = self.callers.newID()
        let ending = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                self.callers.insert(continuation, id: id)
                self.submit(call, pool: pool, id: id)
            }
        } onCancel: {
            unsafe gate_transport_cancel(self.engine, id)
        }
        return try ending.response(from: request.address.origin)
    }

    private func submit(_ call: OutgoingCall, pool: Int, id: UInt64) {
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
        let ending = unsafe CallEnding(
            reason: CallEnding.Reason(result.outcome),
            status: result.status,
            head: Array(head),
            body: Array(body),
            text: String(cString: result.text),
        )
        unsafe callers.end(result.id, with: ending)
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
