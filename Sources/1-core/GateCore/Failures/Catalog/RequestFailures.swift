// SPDX-License-Identifier: Apache-2.0

extension FailureTable {
    static let request = FailureTable(
        .request,
        rows: [
            Row(.routeNone, "route.none", .noSuchRoute),
            Row(.routeMaintenance, "route.maintenance", .overloaded, retry: .after(120), page: .maintenance),
            Row(.routeBodyTooLarge, "route.body_too_large", .tooLarge),
            Row(.endpointNone, "endpoint.none", .noSuchRoute, page: .endpointNotFound),
            Row(.endpointMethod, "endpoint.method", .methodNotAllowed),
            Row(.requestMisdirected, "request.misdirected", .noSuchRoute, status: 421, page: .misdirected),
            Row(.clientCertificateMissing, "client_certificate.missing", .forbidden, page: .certificateNeeded),
            Row(.clientCertificateRejected, "client_certificate.rejected", .forbidden, page: .certificateRejected),
            Row(.clientCertificateHeader, "client_certificate.header", .malformedRequest),
            Row(.requestNotNavigation, "request.not_navigation", .forbidden, page: .notNavigation),
            Row(.requestCrossSite, "request.cross_site", .forbidden, page: .crossSite),
            Row(.requestCrossSiteWebSocket, "request.cross_site_websocket", .forbidden),
            Row(.requestWebSocket, "request.websocket", .malformedRequest),
            Row(.requestWebSocketVersion, "request.websocket_version", .malformedRequest, status: 426),
            Row(.requestNoWebSocket, "request.no_websocket", .malformedRequest),
            Row(.requestTooManyWebSockets, "request.too_many_websockets", .tooMany),
            Row(.requestBodyTooLarge, "request.body_too_large", .tooLarge),
            Row(.forwardAuthPeer, "forward_auth.peer", .forbidden),
            Row(.forwardAuthRequest, "forward_auth.request", .malformedRequest),
            Row(.forwardAuthURL, "forward_auth.url", .malformedRequest),
            Row(.forwardAuthHeader, "forward_auth.header", .malformedRequest),
            Row(.forwardAuthApp, "forward_auth.app", .forbidden),
            Row(.forwardAuthOnly, "forward_auth.only", .forbidden),
            Row(.forwardAuthAdmitted, "forward_auth.admitted", .upstreamFailed),
            Row(.gatewayTooManyWaiting, "gateway.too_many_waiting", .overloaded),
            Row(.gatewayTooManyRequests, "gateway.too_many_requests", .overloaded, retry: .within(1...10)),
            Row(.gatewayOverloaded, "gateway.overloaded", .overloaded, retry: .within(1...10)),
        ],
        documentation: [
            .routeNone: "No app has this host and path.",
            .routeMaintenance: "The app has `maintenance: true`. Logged at info.",
            .routeBodyTooLarge: "The body of the request has more bytes than the app's `max_body`.",
            .endpointNone:
                "The gateway has no such endpoint below `gateway.endpoint_prefix`, or not for this method.",
            .requestMisdirected: """
            The TLS certificate of the connection is not for this host, or the connection was made for a host that \
            asks for no certificate of the client while this one does; the browser opens another connection.
            """,
            .clientCertificateMissing: """
            The host requires a certificate of the client (`client_certificates`, `mode: require`), and the client \
            presented none. See [client-certificates.md](client-certificates.md).
            """,
            .clientCertificateRejected: """
            The host requires a certificate of the client, and the one that the client presented could not be \
            verified; the detail has the reason, such as that it has expired or is revoked, or that the revocation \
            list is too old.
            """,
            .clientCertificateHeader: """
            A trusted proxy sent the certificate of its client in a form other than the configured one, more than \
            once, or in another spelling of the header: the client may have sent it.
            """,
            .requestNotNavigation: """
            Something other than a navigation requested a step of a sign-in: an image or frame in another page, a \
            script, or a browser that prefetches.
            """,
            .requestCrossSite: "Another site made the browser send a request that changes something.",
            .requestCrossSiteWebSocket: """
            A page of another origin opened a WebSocket. Add its origin to `websocket_origins` of the app to allow \
            it; see [websockets.md](websockets.md#who-may-open-one).
            """,
            .requestWebSocket:
                "A WebSocket request is not a complete handshake; the log names what is missing.",
            .requestWebSocketVersion: "The handshake has another version than 13.",
            .requestNoWebSocket: """
            A WebSocket was requested over HTTP/2 where the app accepts none, or at an endpoint of the gateway \
            itself.
            """,
            .requestTooManyWebSockets: """
            A session has 64 WebSockets open on one event loop; usually a page opens them in a loop.
            """,
            .requestBodyTooLarge: "The body of a request to the gateway itself has more than 16 KiB.",
            .forwardAuthPeer: """
            A request for a decision from a peer that `gateway.forward_auth` does not list, or without that key; \
            see [forward-auth.md](forward-auth.md).
            """,
            .forwardAuthRequest: """
            A field with which the proxy describes the request is missing, repeated or malformed; the log names \
            it.
            """,
            .forwardAuthURL: """
            The proxy would forward a path in another spelling than the one decided about, such as `/a//b`; or a \
            path below `gateway.endpoint_prefix`, which belongs to the gateway.
            """,
            .forwardAuthHeader: """
            The client sent a field from which apps take an identity, and the proxy would not replace it; the log \
            names it. Remove it in the proxy.
            """,
            .forwardAuthApp: "A proxy asks about an app that has no `forward_auth`.",
            .forwardAuthOnly:
                "A request reached the gateway for an app to which another proxy forwards: it has `forward_auth`.",
            .forwardAuthAdmitted: """
            The proxy asked for the page of a rejection, but the request may pass: the proxy rejected it for \
            another reason, or the session store was down.
            """,
            .gatewayTooManyWaiting: "Too many requests wait for the session store or a provider.",
            .gatewayTooManyRequests: "`limits.requests_in_flight` requests are in progress.",
            .gatewayOverloaded: "Memory or file descriptors are nearly used up; see [running.md](running.md#overload).",
        ]
    )
}
