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
    private static let freshFor = Duration.seconds(600)
    private static let failureFreshFor = Duration.seconds(30)

    private struct Entry {
        let result: Result<JSON, Failure>
        let until: Instant
    }

    private let transport: any ProviderTransport
    private let fetches = ConcurrencyLimiter(limit: ClientDocuments.maxFetches)
    private let entries = Mutex<[String: Entry]>([:])

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
        admit: () throws(Failure) -> Void
    ) async throws(Failure) -> JSON {
        let key = url.description
        if let known = self.entries.withLock({ $0[key] }), now < known.until { return try known.result.get() }
        try admit()
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
            if entries.count >= ClientDocuments.capacity { entries.removeAll() }
            entries[key] = Entry(result: result, until: until)
        }
        return try result.get()
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
