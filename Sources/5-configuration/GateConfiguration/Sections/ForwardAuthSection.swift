// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GateYAML

/// Which proxies may ask for decisions, and how they describe the request that they ask about.
package struct ForwardAuthSettings: Sendable, Hashable {
    /// How the proxies describe a request.
    package var dialect: ForwardAuthDialect
    /// The networks of the proxies.
    package var from: [CIDRRange]
    /// Whether they set the field in which a proxy in shadow mode reports its own verdict.
    package var reportsStatus: Bool

    /// Proxies of a dialect in some networks.
    package init(dialect: ForwardAuthDialect, from: [CIDRRange], reportsStatus: Bool = false) {
        self.dialect = dialect
        self.from = from
        self.reportsStatus = reportsStatus
    }
}

/// How a proxy describes the request that it asks about; only these fields are read, so that the client's own fields of
/// another dialect count for nothing.
package enum ForwardAuthDialect: String, Sendable, CaseIterable {
    /// `X-Original-Method` and `X-Original-URL`, as the `auth_request` module of nginx is configured.
    case nginx
    /// `X-Forwarded-Method`, `-Proto`, `-Host` and `-Uri`, as the `ForwardAuth` middleware of Traefik sends them.
    case traefik
    /// The same, as the `forward_auth` directive of Caddy sends them.
    case caddy
    /// The request's own method and `Host`, and its path after `/oauth2/auth`, as the HTTP service of Envoy's `ext_authz`
    /// filter sends them.
    case envoy
    /// A `CheckRequest`, as the gRPC service of the same filter sends it.
    case envoyGRPC = "envoy_grpc"
}

/// `gateway.forward_auth` as the file has it.
struct ForwardAuthDraft: Sendable {
    var dialect: ForwardAuthDialect?
    var from: Located<[Located<CIDRRange>]>?
    var shadowStatus = false

    /// The settings; nil if a part is missing or invalid.
    var settings: ForwardAuthSettings? {
        guard let dialect, let from else { return nil }
        return ForwardAuthSettings(dialect: dialect, from: from.value.map(\.value), reportsStatus: self.shadowStatus)
    }

    /// What the file of the proxy needs to copy `Authorization`; nil if that is always copied.
    var authorizationLine: String? {
        switch self.dialect {
        case .nginx:
            "'auth_request_set $gatehouse_authorization $upstream_http_authorization;' and "
                + "'proxy_set_header Authorization $gatehouse_authorization;'"
        case .traefik: "'Authorization' in 'authResponseHeaders'"
        case .caddy: "'copy_headers Authorization' in 'forward_auth'"
        case .envoy: "'exact: authorization' in 'allowed_upstream_headers'"
        case .envoyGRPC, nil: nil
        }
    }
}

extension Mapping<ForwardAuthDraft> {
    /// `gateway.forward_auth`.
    static let forwardAuth = Mapping(
        "'forward_auth'",
        path: "gateway.forward_auth",
        summary: "Decisions for a proxy that forwards requests to apps itself. See [forward-auth.md](forward-auth.md).",
        make: { ForwardAuthDraft() },
        keys: [
            Key(
                "dialect",
                \.dialect,
                .oneOf("a dialect"),
                .init(isRequired: true, example: "nginx"),
                "How the proxy describes the request: `nginx` (`auth_request`), `traefik` (`ForwardAuth`), `caddy` "
                    + "(`forward_auth`), `envoy` (`ext_authz` over HTTP) or `envoy_grpc` (`ext_authz` over gRPC). The fields of other dialects are never read."
            ),
            Key(
                "from",
                located: \.from,
                .list(of: Shape<CIDRRange>.network.located, named: "a list of networks"),
                .init(isRequired: true, example: ["10.0.0.5/32"]),
                "The networks of the proxies. A request for a decision from elsewhere gets 403, but for one over a Unix "
                    + "socket whose listener has `trusted: true`."
            ),
            Key(
                "shadow_status",
                over: \.shadowStatus,
                .flag,
                .init(),
                "Whether every proxy of `from` sets `X-Gatehouse-Shadow-Status` to the status of its own decision, for apps in shadow "
                    + "mode. With `false` no proxy sets it: a value would be a client's own, and counts for nothing."
            ),
        ],
        check: { draft, _, reading in
            for network in draft.from?.value ?? [] where network.value.prefix == 0 {
                let risk = "every client could ask for a decision about any URL"
                reading.error("\(risk); list the networks of your proxies, such as 10.0.0.5/32", at: network.mark)
            }
        }
    )
}
