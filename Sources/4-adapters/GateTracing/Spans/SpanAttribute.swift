// SPDX-License-Identifier: Apache-2.0

/// All attributes of spans: the names of OpenTelemetry's semantic conventions, and ours.
///
/// None holds a query, a header field, a body, a client IP or who the user is; `docs/tracing.md` lists them.
package enum SpanAttribute: String, Sendable, CaseIterable {
    /// The method; `_OTHER` for one that is not a method of RFC 9110 or RFC 5789.
    case requestMethod = "http.request.method"
    /// How many attempts at an upstream there were before.
    case resendCount = "http.request.resend_count"
    case responseStatus = "http.response.status_code"
    /// The app, or the endpoint of the gateway.
    case route = "http.route"
    /// The version of HTTP.
    case protocolVersion = "network.protocol.version"
    /// The host of the request, or of the target.
    case serverAddress = "server.address"
    /// The port of the target.
    case serverPort = "server.port"
    /// The canonical path, without query.
    case urlPath = "url.path"
    /// `http` or `https`.
    case urlScheme = "url.scheme"
    /// Why it failed.
    case errorType = "error.type"
    case app = "gatehouse.app"
    /// The code of the failure that the gateway responded with.
    case code = "gatehouse.code"
    /// The incident that the user sees.
    case incident = "gatehouse.incident"
    /// The id of the request.
    case request = "gatehouse.request"
    case provider = "gatehouse.provider"
    /// What a provider was called for.
    case endpoint = "gatehouse.provider.endpoint"
    /// The operation of the session store.
    case operation = "gatehouse.store.operation"
}
