// SPDX-License-Identifier: Apache-2.0

extension FailureTable {
    static let signIn = FailureTable(
        .signIn,
        rows: [
            Row(.openIDAttemptLost, "openid.attempt_lost", .malformedRequest, page: .signInNotCompleted),
            Row(.openIDAttemptExpired, "openid.attempt_expired", .malformedRequest, page: .signInExpired),
            Row(.openIDAttemptSpent, "openid.attempt_spent", .malformedRequest, page: .signInNotCompleted),
            Row(.openIDAttemptID, "openid.attempt_id", .internalError),
            Row(.openIDStateMissing, "openid.state_missing", .malformedRequest, page: .callbackNotUnderstood),
            Row(.openIDStateMismatch, "openid.state_mismatch", .malformedRequest, page: .signInNotCompleted),
            Row(.openIDProviderMismatch, "openid.provider_mismatch", .malformedRequest, page: .signInStopped),
            Row(.openIDCallback, "openid.callback", .malformedRequest, page: .callbackNotUnderstood),
            Row(.openIDCallbackMalformed, "openid.callback_malformed", .malformedRequest, page: .callbackNotUnderstood),
            Row(.openIDRepeatedParameter, "openid.repeated_parameter", .malformedRequest, page: .callbackNotUnderstood),
            Row(.openIDParameterValue, "openid.parameter_value", .malformedRequest, page: .callbackNotUnderstood),
            Row(.openIDTokenInCallback, "openid.token_in_callback", .malformedRequest, page: .callbackNotUnderstood),
            Row(.openIDIssuerMissing, "openid.issuer_missing", .malformedRequest, page: .signInStopped),
            Row(.openIDIssuerMismatch, "openid.issuer_mismatch", .malformedRequest, page: .signInStopped),
            Row(
                .openIDDiscoveryIssuerMismatch,
                "openid.issuer_mismatch",
                .providerFailed,
                page: .providerMisconfigured
            ),
            Row(.providerInteractionRequired, "provider.interaction_required", .forbidden, page: .providerInteraction),
            Row(.openIDCodeRefused, "openid.code_refused", .malformedRequest, page: .signInNotCompleted),
            Row(.openIDSessionTransferTooLong, "openid.handover_too_long", .malformedRequest, page: .accountTooLarge),
            Row(.sessionNone, "session.none", .signInRequired),
            Row(.sessionTooLarge, "session.too_large", .internalError, page: .accountTooLarge),
            Row(.signInRequired, "sign_in_required", .signInRequired),
            Row(.tokenRejected, "token.rejected", .signInRequired),
            Row(.signInReturnTooLong, "signin.return_too_long", .malformedRequest, page: .returnPathTooLong),
            Row(.signInReturnLost, "signin.return_lost", .malformedRequest, page: .returnPathLost),
            Row(.signInFormNotSent, "signin.form_not_sent", .signInRequired, page: .formNotSent),
            Row(.signInSignedOut, "signin.signed_out", .forbidden, page: .signedOutMeanwhile),
            Row(.policyRefused, "policy.refused", .forbidden, page: .accessDenied),
            Row(.policyEmailNotAuthoritative, "policy.email_not_authoritative", .forbidden, page: .accessDenied),
            Row(.policyDenied, "policy.denied", .forbidden, page: .accessDenied),
            Row(.policyEmailUnknown, "policy.email_unknown", .forbidden, page: .accessUndecided),
            Row(.policyGroupsUnknown, "policy.groups_unknown", .forbidden, page: .accessUndecided),
            Row(.policyFactUnknown, "policy.fact_unknown", .forbidden, page: .accessUndecided),
            Row(.policyScope, "policy.scope", .forbidden, page: .accessDenied),
            Row(.policyCertificate, "policy.certificate", .forbidden, page: .certificateNeeded),
            Row(.policyAuthenticationStale, "policy.authentication_stale", .forbidden, page: .authenticationStale),
            Row(.providerDenied, "provider.denied", .forbidden, page: .notSignedIn),
            Row(.providerHostedDomain, "provider.hosted_domain", .forbidden, page: .otherOrganization),
            Row(.providerTenant, "provider.tenant", .forbidden, page: .otherOrganization),
            Row(.providerWorkspace, "provider.workspace", .forbidden, page: .otherOrganization),
            Row(.providerRedirect, "provider.redirect", .malformedRequest, shown: "command"),
            Row(.signInTooOften, "signin.too_often", .tooMany),
            Row(.signInFailing, "signin.failing", .tooMany),
            Row(.signInTooMany, "signin.too_many", .overloaded, retry: .within(1...10)),
            Row(.signInOverloaded, "signin.overloaded", .overloaded, retry: .within(1...10)),
            Row(.providerNone, "provider.none", .noSuchRoute, page: .providerNotFound),
            Row(.accountCredentials, "account.credentials", .forbidden, page: .credentialsWrong),
            Row(.accountTooMany, "account.too_many", .tooMany),
            Row(.accountBusy, "account.busy", .overloaded, retry: .within(1...10)),
            Row(.accountLink, "account.link", .malformedRequest, page: .linkOver),
            Row(.accountNameTaken, "account.name_taken", .malformedRequest, status: 409, shown: "`gatehouse users`"),
            Row(.accountUnreadable, "account.unreadable", .internalError),
            Row(.accountConnected, "account.connected", .forbidden, status: 409, page: .accountNotConnected),
            Row(.accountDisabled, "account.disabled", .forbidden, page: .accessDenied),
            Row(.mailNotSent, "mail.not_sent", .overloaded),
            Row(.passkeyRejected, "passkey.rejected", .forbidden, page: .passkeyNotAccepted),
            Row(.passkeyCloned, "passkey.cloned", .forbidden, page: .passkeyCopied),
            Row(.passkeyConflict, "passkey.conflict", .forbidden, status: 409, page: .passkeyNotAdded),
            Row(.passkeyLate, "passkey.late", .forbidden, page: .passkeyNotAccepted),
            Row(.clientRequest, "client.request", .malformedRequest, page: .appNotKnown),
            Row(.clientRejected, "client.rejected", .malformedRequest),
        ],
        documentation: [
            .openIDAttemptLost: """
            The provider sent the browser back, but the browser has no cookie of this sign-in attempt: cookies are \
            blocked, the browser deleted it, or the sign-in began in another browser.
            """,
            .openIDAttemptExpired: "The user took more than ten minutes at the provider.",
            .openIDAttemptSpent: "The callback was used before, for example by the browser's back button.",
            .openIDAttemptID: "The gateway made an attempt without a valid id; a bug.",
            .openIDStateMissing: """
            The callback has no `state`. This also happens when a user installs a GitHub App and GitHub redirects \
            here.
            """,
            .openIDStateMismatch: "The callback does not belong to this attempt.",
            .openIDProviderMismatch: """
            The callback came to the endpoint of another provider than the one that the attempt began with.
            """,
            .openIDCallback: "The callback is not a form.",
            .openIDCallbackMalformed: "The callback has neither a code nor an error.",
            .openIDRepeatedParameter: "A parameter of the callback is repeated.",
            .openIDParameterValue:
                "A parameter of the callback is empty, too long or has characters that are not allowed.",
            .openIDTokenInCallback: "The callback carries a token, which the code flow never does.",
            .openIDIssuerMissing: """
            The provider announces that it names itself in callbacks, or `require_iss` demands it, and this \
            callback has no `iss`. RFC 9207.
            """,
            .openIDIssuerMismatch: """
            The callback (400) or the provider's discovery document (502) names another issuer than the \
            configuration. Compare `issuer` in `providers.yaml` with the document, letter by letter.
            """,
            .providerInteractionRequired: """
            The provider has to ask the user something, such as consent, but `prompt: none` in \
            `authorization_parameters` forbids it. The user signs in at the provider first.
            """,
            .openIDCodeRefused: "The provider rejects the code: it was used before or is too old.",
            .openIDSessionTransferTooLong:
                "The session ticket that the attempt has to carry is longer than an attempt can hold.",
            .sessionNone: """
            There is no session. `GET /oauth2/userinfo` and, for scripts, `GET /oauth2/apps` return it.
            """,
            .sessionTooLarge: """
            With `sessions.store: cookie:` the session of this user does not fit into cookies, usually because of \
            roles, or of groups that rules name. Map fewer of them in the provider's `profile`, or use another \
            store; see [sessions.md](sessions.md#sessions-in-cookies).
            """,
            .signInRequired: """
            A script requested an app that needs a session, and has none that the app accepts. The JSON has the \
            URL to open in a window as `sign_in`, and in `help` which cookie a client without a browser sends; see \
            [compatibility.md](compatibility.md#clients-without-a-browser).
            """,
            .tokenRejected: """
            The bearer token or the service token of a request is not valid for the app. The log line has the rule \
            that it breaks; the client gets 401 with `invalid_token`. See \
            [machines.md](machines.md#rejected-tokens).
            """,
            .signInReturnTooLong: """
            The user is signed in, but the URL that they came from has more than 8 KiB, or is too long for cookies \
            beside those that the browser has; see [sessions.md](sessions.md#long-urls). The page leads to the \
            app.
            """,
            .signInReturnLost: """
            The browser no longer has the cookie with the URL that the user came from, which is too long to travel \
            otherwise: it is over an hour old, was deleted, or was replaced by those of later sign-ins. The page \
            leads to the app. See [sessions.md](sessions.md#long-urls).
            """,
            .signInFormNotSent: """
            A user sent a form to an app, and the session had ended meanwhile, or a rule asks for a passkey. The \
            app did not get it, and a sign-in could not bring it back. The button of the page leads to the sign-in \
            and then to the page with the form.
            """,
            .signInSignedOut: """
            The user was signed out while the sign-in was in progress: by the provider, or everywhere from another \
            browser. The sign-in has ended as well; a new one is possible at once.
            """,
            .policyRefused: "The user is signed in and no entry of the app's `allow` matches.",
            .policyEmailNotAuthoritative: """
            An entry of `allow` matches the verified email address, but the provider is not the authority for it: \
            a private Google account with an email address of another domain, for example. See \
            [profile.md](profile.md); `authoritative: false` in the entry accepts such addresses.
            """,
            .policyDenied: "An entry of the app's `deny` matches the user; the log names its line.",
            .policyEmailUnknown: """
            An entry of `deny` names an email address or a domain, and the provider sent no verified email address \
            of the user, so the gateway cannot decide whether it matches. Add `provider` to the entry to exempt \
            users of a provider without verified email addresses.
            """,
            .policyGroupsUnknown: """
            An entry of `deny` names a group, and the provider did not send all groups of the user, so the gateway \
            cannot decide whether it matches. The log names the provider; `docs/providers/` explains why its list \
            can be incomplete. A new sign-in requests the groups again.
            """,
            .policyFactUnknown: """
            A rule asks for a role, a tenant, the network of the client, the time of the authentication or the \
            message to an MCP server, and the gateway does not know it; the log names the fact. See \
            [policy.md](policy.md#what-is-unknown) and [mcp.md](mcp.md#rules).
            """,
            .policyScope: """
            The access token lacks a scope that a rule of the app asks for, and with it the user would be \
            admitted. `WWW-Authenticate` has `error="insufficient_scope"` and the scopes to ask for at \
            `/oauth2/authorize`. See [policy.md](policy.md#scopes).
            """,
            .policyCertificate: """
            A rule with `certificate` decides about the app, and the request came with no certificate of a client \
            that was verified. See [client-certificates.md](client-certificates.md).
            """,
            .policyAuthenticationStale: """
            A rule with `authenticated` asks for a recent authentication. The provider was asked for one \
            (`max_age`) and reported an earlier one in `auth_time`. See [policy.md](policy.md#authenticated).
            """,
            .providerDenied: "The user, or an administrator at the provider, denied the sign-in.",
            .providerHostedDomain: "The Google account does not belong to one of the `hosted_domains`.",
            .providerTenant: "The Microsoft account belongs to another tenant than `tenant` and `tenants` allow.",
            .providerWorkspace: "The Slack account does not belong to one of the `workspaces`.",
            .providerRedirect: "`gatehouse try` cannot test this provider: it accepts no callback on this machine.",
            .signInTooOften: """
            One browser started more sign-ins within a minute than `limits.sign_ins_per_minute` allows, or one \
            client IP ten times as many. Behind a proxy: is it in `trusted_proxies`?
            """,
            .signInFailing: """
            One client IP sent more callbacks without an attempt within a minute than \
            `limits.failed_sign_ins_per_minute` allows.
            """,
            .signInTooMany: "`limits.sign_ins_in_flight` sign-ins are in progress; usually a provider is slow.",
            .signInOverloaded: """
            Memory or file descriptors are short, or the event loops are late, so the gateway starts no sign-in; \
            see [running.md](running.md#overload).
            """,
            .providerNone: "`providers.yaml` has no provider of this name.",
            .accountCredentials: """
            A local account: a wrong password or code, a name without an account, or a disabled account. The page \
            shows the same in all cases, the log line names the case. See [accounts.md](accounts.md#guessing).
            """,
            .accountTooMany: """
            Too many passwords or codes were tried for one local account, so this one was not looked at. See \
            [accounts.md](accounts.md#guessing).
            """,
            .accountBusy: """
            Too many passwords of local accounts wait to be hashed. The limit keeps the CPU and the memory for \
            users who are signed in.
            """,
            .accountLink: """
            A link by which a user chooses a password was used before, has expired or was replaced by a later one. \
            `gatehouse users reset` makes another.
            """,
            .accountNameTaken: "An account with this email address or user name exists already.",
            .accountUnreadable: """
            A local account or the passkeys of a user cannot be opened with any secret of the gateway: a secret \
            was removed, or the store is a copy from another gateway. Nothing is overwritten. See \
            [keys.md](keys.md).
            """,
            .accountConnected: """
            An account was not connected with that of the session: it is connected with others, is the same one, \
            is one too many, or the session in which the user began has ended. See \
            [connected-accounts.md](connected-accounts.md).
            """,
            .accountDisabled: """
            The account of the sign-in is connected with a local account by which apps know its user, and an \
            operator has disabled that one. See [connected-accounts.md](connected-accounts.md).
            """,
            .mailNotSent: """
            A message with a link could not be queued: too many wait, the mailbox has got five within an hour, or \
            its email address needs SMTPUTF8, which is not supported. See [accounts.md](accounts.md#email).
            """,
            .passkeyRejected: """
            The response to a request for a passkey breaks a rule of WebAuthn: it is of another origin or \
            challenge, its signature is wrong, the device did not verify the user, or the passkey was removed. The \
            log line names the rule. See [passkeys.md](passkeys.md).
            """,
            .passkeyCloned: """
            The signature counter of a passkey did not grow, so a copy of the authenticator may be in use \
            (WebAuthn §6.1.1). The passkey is not accepted as long as its counter is behind.
            """,
            .passkeyConflict: """
            A passkey was not added: the user has as many as are allowed, has added this one before, or has added \
            the first one in another window at the same time.
            """,
            .passkeyLate: """
            A form about passkeys was open for more than ten minutes, was sent before, or is of an earlier \
            sign-in. The page has a new one.
            """,
            .clientRequest: """
            A client of `clients` sent the browser with a request that gets no redirect, since `client_id` or \
            `redirect_uri` is not one of the file. The detail names it.
            """,
            .clientRejected: """
            A client of `clients` got an error of OAuth 2.0, in the redirect or as JSON: `error` and \
            `error_description` are in the detail. See [clients.md](clients.md#errors).
            """,
        ],
        advice: [
            .openIDIssuerMissing:
                "remove require_iss from {section}, unless the provider is known to send iss",
            .openIDIssuerMismatch: """
            write the issuer into {section}.issuer exactly as the provider's discovery document spells it
            """,
            .openIDDiscoveryIssuerMismatch: """
            write the issuer into {section}.issuer exactly as the provider's discovery document spells it
            """,
            .openIDCodeRefused: """
            compare the registered callback with {callback}, letter by letter; a code works once and for minutes
            """,
            .providerDenied: "the user denied it, or an administrator has to allow the app at the provider first",
            .providerHostedDomain: "sign in with an account of {hosted_domains}, or change hosted_domains",
            .providerTenant:
                "sign in with an account of the tenant in {section}, or change tenant or tenants",
            .providerWorkspace: "sign in with an account of {workspaces}, or change workspaces",
            .accountUnreadable: """
            restore the gateway secret that sealed the entry, as an earlier one in `gateway.secrets` or in the \
            state folder; entries are sealed again with the present secret within the hour
            """,
            .mailNotSent:
                "look for 'mail not sent' in the log, and check 'mail' with `gatehouse check --online`",
            .passkeyCloned: """
            talk to the user, then remove the passkey with `gatehouse passkeys remove`; if it was copied, end the \
            user's sessions with `gatehouse sessions revoke`
            """,
        ]
    )
}
