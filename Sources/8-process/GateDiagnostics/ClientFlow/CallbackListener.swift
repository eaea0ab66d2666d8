// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateNet
internal import GateOperations
internal import GateWire
internal import HTTPTypes
internal import NIOCore
internal import Synchronization

/// Receives the redirect to a client on this machine.
///
/// RFC 8252 §7.3. A request that does not belong to the sign-in is rejected, and the wait goes on.
final class CallbackListener: Sendable {
    private let group: SocketLoopGroup
    private let queries: AsyncStream<String?>
    private let received: AsyncStream<String?>.Continuation
    private let listeners = Mutex<[Listener]>([])

    private init(group: SocketLoopGroup) {
        self.group = group
        (self.queries, self.received) = AsyncStream.makeStream(of: String?.self)
    }

    /// Listens for the redirect URI of a sign-in.
    static func open(for url: WebURL, of flow: ClientFlow) async throws(Failure) -> CallbackListener {
        let callback = CallbackListener(group: try SocketLoopGroup.started(1))
        let isName = url.origin.host == "localhost"
        do throws(Failure) {
            let host = isName ? "127.0.0.1" : url.origin.host.filter { $0 != "[" && $0 != "]" }
            try await callback.listen(on: host, for: url, of: flow)
            if isName { try await callback.listenAlsoOnVersion6(for: url, of: flow) }
        } catch {
            await callback.close()
            throw error
        }
        return callback
    }

    private func listen(on host: String, for url: WebURL, of flow: ClientFlow) async throws(Failure) {
        let listener = try await Listener.openPlain(
            host: host,
            port: url.origin.port,
            on: self.group,
            maxConnections: 16
        ) { request, _, _ in self.response(to: request, at: url.path, of: flow) }
        self.listeners.withLock { $0.append(listener) }
    }

    /// Browsers may resolve `localhost` to `::1`, where no other process may receive the code; a machine without IPv6 is fine.
    private func listenAlsoOnVersion6(for url: WebURL, of flow: ClientFlow) async throws(Failure) {
        do throws(Failure) {
            try await self.listen(on: "::1", for: url, of: flow)
        } catch {
            guard !error.detail.contains("in use") else { throw error }
        }
    }

    private func response(to request: RequestHead, at path: String, of flow: ClientFlow) -> Response {
        guard request.method == .get, request.path.text(in: request.message) == path, let query = request.queryText,
            let form = Form(encoded: query), flow.owns(callback: form)
        else { return .text(404, "Only the callback of the sign-in in the terminal is served here.\n") }
        self.received.yield(query)
        return .text(200, "The terminal has the rest; this page can be closed.\n")
    }

    /// The query of the callback; nil if the browser does not come back in time.
    func query(within limit: Duration) async -> String? {
        let received = self.received
        let alarm = Task {
            try await Task.sleep(for: limit)
            received.yield(nil)
        }
        var result: String?
        for await query in self.queries {
            result = query
            break
        }
        alarm.cancel()
        return result
    }

    func close() async {
        // The browser has yet to receive its response.
        try? await Task.sleep(for: .milliseconds(300))
        for listener in self.listeners.withLock({ $0 }) { await listener.close() }
        try? await self.group.shutdownGracefully()
    }
}
