// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateOpenID
internal import Synchronization

/// Fetches the metadata documents of clients that are named by their URL, and keeps them for a while.
///
/// draft-ietf-oauth-client-id-metadata-document §4. The host is one that a stranger names: the transport follows no redirect and
/// connects to addresses of the internet only; size, time, number and rate are bounded.
package final class ClientDocuments: Sendable {
    /// The name of the transport, beside those of providers.
    package static let transportName = "client documents"
    /// The maximum size of a document; the draft recommends 5 KB.
    private static let maxBody = 16 * 1024
    private static let timeout = Duration.seconds(5)
    private static let capacity = 256
    private static let maxFetches = 16
    /// How many of one host are fetched at a time, so that a slow one leaves some for others.
    private static let maxFetchesOfHost = 2
    private static let freshFor = Duration.seconds(600)
    private static let failureFreshFor = Duration.seconds(30)

    private struct Entry {
        let result: Result<JSON, Failure>
        let until: Instant
    }

    private let transport: any ProviderTransport
    private let fetches = ConcurrencyLimiter(limit: ClientDocuments.maxFetches)
    private let entries = Mutex<[String: Entry]>([:])
    /// The fetches in progress, by host.
    private let fetching = Mutex<[String: Int]>([:])

    /// Documents that are fetched over a transport.
    package init(over transport: any ProviderTransport) {
        self.transport = transport
    }

    /// The document at a URL.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - now: The time.
    ///   - admit: Called before a fetch, to limit how many a client causes.
    /// - Returns: The document, not checked.
    /// - Throws: `client.request` with what is wrong with it.
    package func document(
        at url: WebURL,
        now: Instant,
        admit: () async throws(Failure) -> Void
    ) async throws(Failure) -> JSON {
        let key = url.description
        if let known = self.entries.withLock({ $0[key] }), now < known.until { return try known.result.get() }
        try await admit()
        let host = url.origin.host
        guard self.begins(at: host) else {
            throw Failure(
                .gatewayTooManyWaiting,
                "\(ClientDocuments.maxFetchesOfHost) documents of \(host) are being fetched"
            )
        }
        defer { self.ends(at: host) }
        guard self.fetches.acquire() else {
            throw Failure(
                .gatewayTooManyWaiting,
                "\(ClientDocuments.maxFetches) documents of clients are being fetched"
            )
        }
        defer { self.fetches.release() }
        let result = await self.fetched(url)
        let isKept: Bool
        switch result {
        case .success: isKept = true
        case .failure: isKept = false
        }
        let until = now.advanced(by: isKept ? ClientDocuments.freshFor : ClientDocuments.failureFreshFor)
        self.entries.withLock { entries in
            if entries.count >= ClientDocuments.capacity { entries = entries.filter { now < $0.value.until } }
            if entries.count >= ClientDocuments.capacity,
                let first = entries.min(by: { $0.value.until < $1.value.until })
            {
                // Failures are the first to expire.
                entries[first.key] = nil
            }
            entries[key] = Entry(result: result, until: until)
        }
        return try result.get()
    }

    private func begins(at host: String) -> Bool {
        self.fetching.withLock { fetching in
            let count = fetching[host, default: 0]
            guard count < ClientDocuments.maxFetchesOfHost else { return false }
            fetching[host] = count + 1
            return true
        }
    }

    private func ends(at host: String) {
        self.fetching.withLock { fetching in
            let count = fetching[host, default: 1] - 1
            fetching[host] = count == 0 ? nil : count
        }
    }

    private func fetched(_ url: WebURL) async -> Result<JSON, Failure> {
        let request = ProviderRequest(
            method: "GET",
            address: url,
            headers: [("Accept", "application/json")],
            body: nil,
            limit: ClientDocuments.maxBody,
            timeout: ClientDocuments.timeout
        )
        func failure(_ why: String) -> Result<JSON, Failure> {
            .failure(Failure(.clientRequest, "the metadata document of the client at \(url): \(why)"))
        }
        do throws(Failure) {
            let response = try await self.transport.response(to: request, provider: ClientDocuments.transportName)
            guard response.status == 200 else {
                return failure("the status is \(response.status), and only 200 counts")
            }
            let type = response.header("content-type")?.prefix { $0 != ";" }.lowercased() ?? ""
            guard type == "application/json" || type.hasPrefix("application/") && type.hasSuffix("+json") else {
                return failure("the content type is not application/json")
            }
            guard let json = try? JSON(parsing: response.body, depth: 8) else { return failure("it is not JSON") }
            return .success(json)
        } catch {
            return failure(
                "it could not be fetched (\(error.code): \(error.detail)); private addresses are never asked"
            )
        }
    }
}
