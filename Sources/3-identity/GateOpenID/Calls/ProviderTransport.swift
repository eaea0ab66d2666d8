// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// What a request to a provider is for, as metrics name it.
package enum ProviderEndpoint: String, Sendable, CaseIterable {
    /// The provider's metadata.
    case discovery
    case keys
    /// Codes and refresh tokens.
    case token
    /// Pushed authorization requests.
    case pushedAuthorization = "pushed_authorization"
    /// Claims about the user.
    case userinfo
    /// The provider's API, such as for groups.
    case api
    /// The revocation of tokens.
    case revocation
    /// The description of a token.
    case introspection
}

package struct ProviderRequest: Sendable {
    /// `GET`, `POST` or `HEAD`.
    package let method: String
    /// Where it goes.
    package let address: WebURL
    /// The fields, names as they are to be written; values are visible ASCII and spaces.
    package let headers: [(name: String, value: String)]
    /// The body; nil for none.
    package let body: [UInt8]?
    /// How many bytes the body of the response may have.
    package let limit: Int
    /// How long the whole exchange may take from when it is sent; it may wait as long for a connection before.
    package let timeout: Duration
    /// What it is for.
    package var endpoint = ProviderEndpoint.api

    package init(
        method: String,
        address: WebURL,
        headers: [(name: String, value: String)],
        body: [UInt8]?,
        limit: Int,
        timeout: Duration
    ) {
        self.method = method
        self.address = address
        self.headers = headers
        self.body = body
        self.limit = limit
        self.timeout = timeout
    }
}

/// The response of a provider, whatever the status.
package struct ProviderResponse: Sendable {
    /// The status code.
    package let status: Int
    /// The fields, names in lower case.
    package let headers: [(name: String, value: String)]
    /// The body, never longer than the request's limit.
    package let body: [UInt8]

    package init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers.map { ($0.name.lowercased(), $0.value) }
        self.body = body
    }

    /// The value of the first field of that name, which is given in lower case.
    package func header(_ name: String) -> String? {
        self.headers.first { $0.name == name }?.value
    }
}

/// The way to the providers: the only I/O of the code flow.
///
/// A transport checks certificates, never follows a redirect, sends nothing that the request does not name, and cuts
/// off a body over the limit and an exchange over the time-out. It ends the exchange when the calling task is
/// cancelled.
package protocol ProviderTransport: Sendable {
    /// Sends a request and waits for the whole response.
    ///
    /// - Parameters:
    ///   - request: What to send.
    ///   - provider: The provider's name in the configuration, which decides about trust and connections.
    /// - Returns: The response, also one with an error status.
    /// - Throws: `provider.unavailable` and the like when there is no complete response.
    func response(to request: ProviderRequest, provider: String) async throws(Failure) -> ProviderResponse
}
