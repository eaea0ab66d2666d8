// SPDX-License-Identifier: Apache-2.0

extension FailureTable {
    static let provider = FailureTable(
        .provider,
        rows: [
            Row(.openIDClientRefused, "openid.client_refused", .providerFailed, page: .providerMisconfigured),
            Row(
                .openIDClientAuthentication,
                "openid.client_authentication",
                .providerFailed,
                page: .providerMisconfigured
            ),
            Row(
                .openIDPushedAuthorization,
                "openid.pushed_authorization",
                .providerFailed,
                page: .providerMisconfigured
            ),
            Row(.openIDMetadata, "openid.metadata", .providerFailed, page: .providerMisconfigured),
            Row(.openIDEndpointsMissing, "openid.metadata", .internalError),
            Row(.openIDKeySet, "openid.key_set", .providerFailed),
            Row(.openIDTokenResponse, "openid.token_response", .providerFailed),
            Row(.openIDTokenType, "openid.token_type", .providerFailed, page: .providerMisconfigured),
            Row(.openIDMissingIDToken, "openid.id_token_missing", .providerFailed, page: .providerMisconfigured),
            Row(.openIDUserinfoSubject, "openid.userinfo_subject", .providerFailed, page: .providerMisconfigured),
            Row(.openIDUserinfoToken, "openid.userinfo_token", .providerFailed, page: .providerMisconfigured),
            Row(.providerUserinfoUnavailable, "provider.userinfo_unavailable", .providerFailed, shown: "log only"),
            Row(.providerSubject, "provider.subject", .providerFailed, page: .providerMisconfigured),
            Row(.providerAPIRefused, "provider.api_refused", .providerFailed, page: .providerMisconfigured),
            Row(.providerTokenRejected, "provider.token_rejected", .providerFailed, shown: "log only"),
            Row(.providerGrantEnded, "provider.grant_ended", .signInRequired, shown: "log only"),
            Row(.providerGroupsIncomplete, "provider.groups_incomplete", .providerFailed, shown: "log only"),
            Row(.providerRefused, "provider.refused", .providerFailed, page: .providerMisconfigured),
            Row(.providerUnavailable, "provider.unavailable", .providerFailed),
            Row(.providerUnreachable, "provider.unreachable", .providerFailed),
            Row(.providerConnectionLost, "provider.connection_lost", .providerFailed),
            Row(.providerTimeout, "provider.timeout", .providerFailed),
            Row(.providerTLS, "provider.tls", .providerFailed, page: .providerMisconfigured),
            Row(
                .providerPinMismatch,
                "provider.pin_mismatch",
                .providerFailed,
                status: 503,
                retry: .after(30),
                page: .providerNotVerified
            ),
            Row(
                .providerPinsExpired,
                "provider.pins_expired",
                .providerFailed,
                status: 503,
                retry: .after(30),
                page: .providerNotVerified
            ),
            Row(
                .providerPinMissing,
                "provider.pin_missing",
                .providerFailed,
                status: 503,
                retry: .after(30),
                page: .providerNotVerified
            ),
            Row(
                .providerPinInsecure,
                "provider.pin_insecure",
                .providerFailed,
                status: 503,
                retry: .after(30),
                page: .providerNotVerified
            ),
            Row(.providerProxy, "provider.proxy", .providerFailed),
            Row(.providerCAFile, "provider.ca_file", .internalError, shown: "start, reload"),
            Row(.providerRedirected, "provider.redirected", .providerFailed, page: .providerMisconfigured),
            Row(.providerContentType, "provider.content_type", .providerFailed),
            Row(.providerMalformedJSON, "provider.malformed_json", .providerFailed),
            Row(.providerResponseMalformed, "provider.answer_malformed", .providerFailed),
            Row(.providerTooLarge, "provider.too_large", .providerFailed),
            Row(.providerResponseTooLarge, "provider.answer_too_large", .providerFailed),
            Row(.providerInsecureURL, "provider.insecure_address", .providerFailed, page: .providerMisconfigured),
            Row(.providerCancelled, "provider.cancelled", .providerFailed),
            Row(.providerQueueFull, "provider.queue_full", .overloaded),
            Row(.providerNoResources, "provider.no_resources", .overloaded),
            Row(.providerShutDown, "provider.shut_down", .overloaded),
            Row(.providerBusy, "provider.busy", .overloaded),
            Row(.providerPrivateKey, "provider.private_key", .internalError, shown: "start, 500"),
            Row(.providerBadRequest, "provider.bad_request", .internalError),
            Row(.providerUnknown, "provider.unknown", .internalError),
            Row(.providerDefinition, "provider.definition", .internalError),
        ],
        documentation: [
            .openIDClientRefused: """
            The provider rejects `client_id` with `client_secret` or `private_key`, or the redirect URI; the log \
            has its message and what to check.
            """,
            .openIDClientAuthentication: """
            The provider's metadata offer no client authentication that the configuration supports: it wants a \
            secret where there is a key, a key where there is a secret, or another method.
            """,
            .openIDPushedAuthorization: """
            `pushed_authorization` is on and the provider has no endpoint for it, or it is off and the provider \
            requires it; or its response has no usable `request_uri`. RFC 9126.
            """,
            .openIDMetadata: """
            The discovery document lacks something, or has a URL that is not https; 500 if the provider's type has \
            no endpoints.
            """,
            .openIDKeySet: "The provider's keys cannot be read.",
            .openIDTokenResponse: """
            The response to the code does not follow the standard: an OpenID provider sends JSON as \
            `application/json`.
            """,
            .openIDUserinfoSubject: "Userinfo is about another subject than the ID token.",
            .openIDUserinfoToken: """
            Userinfo is a signed token that is not valid, or an encrypted one; the log has the code of the rule, \
            as for ID tokens.
            """,
            .providerUserinfoUnavailable: """
            Userinfo did not respond, or without claims about the user, who signed in with the claims of the ID \
            token. For rules, what only userinfo contains is unknown.
            """,
            .providerSubject: "The provider sent no usable id of the user.",
            .providerAPIRefused: """
            The provider rejected the call that returns the user's profile; the log has its message. Often the app \
            lacks a scope or a permission.
            """,
            .providerTokenRejected: """
            At a re-check the provider's API rejected an access token that it had just refreshed; the session \
            continues until `sessions.max_stale`, and the re-check is repeated.
            """,
            .providerGrantEnded: """
            At a re-check the provider no longer confirmed the user (`invalid_grant` and the like): the account \
            was disabled, the user signed out there, or the grant was revoked or has expired. The user's session \
            has ended; see [sessions.md](sessions.md#re-checks).
            """,
            .providerGroupsIncomplete: """
            The user signed in, but the gateway could not read all groups; the log names the lookup and the \
            reason. For rules, the groups are unknown.
            """,
            .providerRefused: """
            The provider responded to the sign-in with an error; the log has its text. Often the redirect URI is \
            not registered there.
            """,
            .providerUnavailable: """
            The provider responded with an error of its own, or its documents could not be fetched.
            """,
            .providerUnreachable: "No connection, a lost one, or no response in time.",
            .providerTLS: """
            The provider does not prove its name. The log has the reason: its certificate has expired, is for \
            another host name or of an unknown issuer (for a private authority: is `tls.ca_file` right?), its TLS \
            is older than 1.2, or the port does not speak TLS. `gatehouse check --online` reports it too.
            """,
            .providerPinMismatch: """
            The provider was verified, but has none of the keys in `tls.pins`; nothing was sent to it. See \
            [pinning.md](pinning.md).
            """,
            .providerPinsExpired: "The pins have expired and `on_expiry: reject` is set.",
            .providerPinMissing: """
            The provider named a host that has no pins, while pins are enforced; list it under `tls.pins.hosts`.
            """,
            .providerPinInsecure: "Plain http has no key to pin, so it is rejected where pins are enforced.",
            .providerProxy: """
            The proxy that `proxy` names responded and opened no tunnel to the provider; the log has its status.
            """,
            .providerCAFile: "The file that `tls.ca_file` names cannot be read, or has more than 1 MiB.",
            .providerRedirected: "The provider responded with a redirect where none is allowed.",
            .providerContentType: "The response is not JSON, not valid JSON, or not valid HTTP.",
            .providerTooLarge: "The response is larger than its limit.",
            .providerInsecureURL: "A call would have used plain http.",
            .providerCancelled: "The browser disconnected during the call.",
            .providerQueueFull: """
            The gateway cannot make more calls to providers now; `provider.queue_full`: a call waited for one of \
            `max_connections` until its timeout.
            """,
            .providerBusy: """
            The provider is slower than users sign in: a sign-in would wait for more than 10 seconds until one of \
            `max_connections` is free. `Retry-After` is the time until the page can be reloaded; the callback \
            stays valid. Also: 400 users wait for this provider, or half of `max_connections` send pushed \
            authorization requests. See [running.md](running.md#a-slow-provider).
            """,
            .providerPrivateKey: """
            `private_key` or `certificate` of the provider that the detail names cannot be used: not PEM, \
            encrypted, too short, of another kind, or the certificate of another key.
            """,
            .providerBadRequest: """
            The gateway attempted a call that it must not make, or a provider's settings are incomplete; a bug, or \
            a provider that was just removed.
            """,
        ],
        advice: [
            .openIDClientRefused: """
            compare client_id and client_secret in {section} with the registration at the provider; a secret may \
            have expired there
            """,
            .openIDClientAuthentication: """
            set client_authentication in {section} to one that the provider offers; 'gatehouse check --online' \
            lists them
            """,
            .openIDMetadata: """
            look at the provider's discovery document; 'gatehouse check --online' names what is missing
            """,
            .openIDEndpointsMissing: """
            look at the provider's discovery document; 'gatehouse check --online' names what is missing
            """,
            .openIDMissingIDToken:
                "the scope 'openid' must be requested in {section}.scopes and allowed at the provider",
            .providerSubject: """
            the profile needs an id: see {section}.profile.subject, and 'gatehouse profile' to test it with saved \
            responses
            """,
            .providerTLS: "with a private certificate authority set tls.ca_file in {section}",
            .providerPrivateKey: "make a key that the provider accepts, and name its PEM file in {section}.private_key",
        ]
    )
}
