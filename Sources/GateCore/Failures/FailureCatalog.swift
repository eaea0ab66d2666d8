// SPDX-License-Identifier: Apache-2.0

extension Failure {
    /// Every failure of the gateway; ``entry`` has the code, the status and all texts of each.
    ///
    /// A new failure is a case here and its entry below, nothing else: `docs/errors.md` is generated from the entries in this
    /// order. Codes are stable; a released one never changes.
    package enum Reason: Sendable, Hashable, CaseIterable {
        // Sign-in
        case openIDAttemptLost
        case openIDAttemptExpired
        case openIDAttemptSpent
        case openIDAttemptID
        case openIDStateMissing
        case openIDStateMismatch
        case openIDProviderMismatch
        case openIDCallback
        case openIDCallbackMalformed
        case openIDRepeatedParameter
        case openIDParameterValue
        case openIDTokenInCallback
        case openIDIssuerMissing
        case openIDIssuerMismatch
        case openIDDiscoveryIssuerMismatch
        case providerInteractionRequired
        case openIDCodeRefused
        case openIDSessionTransferTooLong
        case sessionNone
        case sessionTooLarge
        case signInRequired
        case tokenRejected
        case signInReturnTooLong
        case signInReturnLost
        case signInFormNotSent
        case signInSignedOut
        case policyRefused
        case policyEmailNotAuthoritative
        case policyDenied
        case policyEmailUnknown
        case policyGroupsUnknown
        case policyFactUnknown
        case policyScope
        case policyCertificate
        case policyAuthenticationStale
        case providerDenied
        case providerHostedDomain
        case providerTenant
        case providerWorkspace
        case providerRedirect
        case signInTooOften
        case signInFailing
        case signInTooMany
        case signInOverloaded
        case providerNone
        case accountCredentials
        case accountTooMany
        case accountBusy
        case accountLink
        case accountNameTaken
        case accountUnreadable
        case accountConnected
        case accountDisabled
        case mailNotSent
        case passkeyRejected
        case passkeyCloned
        case passkeyConflict
        case passkeyLate
        case clientRequest
        case clientRejected

        // Session transfer
        case sessionTransferParameters
        case sessionTransferRequest
        case sessionTransferCode
        case sessionTransferSpent
        case sessionTransferTooOften
        case sessionTransferWrongOrigin
        case sessionTransferOtherBrowser

        // Back-channel logout
        case logoutRequest
        case logoutToken
        case logoutReplayed
        case logoutUnverified
        case logoutTooOften
        case logoutBusy

        // ID tokens
        case idTokenMalformed
        case idTokenSize
        case idTokenType
        case idTokenEncrypted
        case idTokenUnsigned
        case idTokenAlgorithm
        case idTokenCriticalHeader
        case idTokenKeyID
        case idTokenKeyUnknown
        case idTokenKeyIssuer
        case idTokenSignature
        case idTokenIssuer
        case idTokenAudience
        case idTokenAuthorizedParty
        case idTokenSubject
        case idTokenExpired
        case idTokenIssuedAt
        case idTokenNotBefore
        case idTokenLifetime
        case idTokenNonce
        case idTokenAccessTokenHash

        // Providers
        case openIDClientRefused
        case openIDClientAuthentication
        case openIDPushedAuthorization
        case openIDMetadata
        case openIDEndpointsMissing
        case openIDKeySet
        case openIDTokenResponse
        case openIDTokenType
        case openIDMissingIDToken
        case openIDUserinfoSubject
        case openIDUserinfoToken
        case providerUserinfoUnavailable
        case providerSubject
        case providerAPIRefused
        case providerTokenRejected
        case providerGrantEnded
        case providerGroupsIncomplete
        case providerRefused
        case providerUnavailable
        case providerUnreachable
        case providerConnectionLost
        case providerTimeout
        case providerTLS
        case providerPinMismatch
        case providerPinsExpired
        case providerPinMissing
        case providerPinInsecure
        case providerProxy
        case providerCAFile
        case providerRedirected
        case providerContentType
        case providerMalformedJSON
        case providerResponseMalformed
        case providerTooLarge
        case providerResponseTooLarge
        case providerInsecureURL
        case providerCancelled
        case providerQueueFull
        case providerNoResources
        case providerShutDown
        case providerBusy
        case providerPrivateKey
        case providerBadRequest
        case providerUnknown
        case providerDefinition

        // Requests
        case routeNone
        case routeMaintenance
        case routeBodyTooLarge
        case endpointNone
        case endpointMethod
        case requestMisdirected
        case clientCertificateMissing
        case clientCertificateRejected
        case clientCertificateHeader
        case requestNotNavigation
        case requestCrossSite
        case requestCrossSiteWebSocket
        case requestWebSocket
        case requestWebSocketVersion
        case requestNoWebSocket
        case requestTooManyWebSockets
        case requestBodyTooLarge
        case forwardAuthPeer
        case forwardAuthRequest
        case forwardAuthURL
        case forwardAuthHeader
        case forwardAuthApp
        case forwardAuthOnly
        case forwardAuthAdmitted
        case gatewayTooManyWaiting
        case gatewayTooManyRequests
        case gatewayOverloaded

        // Messages
        case wireBareLF
        case wireBareCR
        case wireEmptyLines
        case wireFieldName
        case wireFieldValue
        case wireHeadTooLarge
        case wireFieldTooLarge
        case wireTooManyFields
        case wireTargetTooLong
        case wireFieldSpace
        case wireFieldBytes
        case wirePseudoField
        case wireConnectionField
        case requestScheme
        case wireTooSlow
        case requestStartLine
        case requestTarget
        case requestFragment
        case wireStreamOrder
        case requestVersion
        case requestVersionNotSupported
        case requestMethodNotAllowed
        case requestMethodUnknown
        case requestMethodTooLong
        case routeMethod
        case requestHeaderName
        case requestHost
        case requestNoHost
        case requestRepeatedHost
        case requestHostDiffersFromTarget
        case requestRepeatedField
        case requestExpectation
        case pathBadEscape
        case pathNotUTF8
        case pathControlCharacter
        case pathBackslash
        case pathDotsWithParameter
        case pathAmbiguous
        case pathParameter
        case pathDestination
        case pathEncodedSlash
        case framingLength
        case framingRepeatedLength
        case framingLengthAndCoding
        case framingCoding
        case framingRepeatedCoding
        case framingCodingInHTTP10
        case framingBodyNotAllowed
        case chunkSize
        case chunkExtension
        case chunkNoLineEnd
        case chunkOverhead
        case chunkTrailerField
        case chunkTrailerTooLarge
        case chunkTooLarge

        // Apps
        case upstreamUnreachable
        case upstreamUntrusted
        case upstreamPinMismatch
        case upstreamRefusedStream
        case upstreamClosed
        case upstreamClosedInResponse
        case upstreamRefused
        case upstreamWebSocket
        case upstreamStartLine
        case upstreamStatus
        case upstreamLength
        case upstreamCoding
        case upstreamFraming
        case upstreamHeadTooLarge
        case upstreamField
        case upstreamUnexpectedInterim
        case upstreamConnectTimedOut
        case upstreamTimedOut
        case upstreamOutOfTime
        case upstreamLoop
        case upstreamOverflow

        // The gateway
        case sessionStoreUnavailable
        case sessionConfirmationNeeded
        case sessionNotConfirmed
        case sessionStoreFull
        case sessionStoreBusy
        case sessionStoreFileFailure
        case sessionRevocationPending
        case sessionStoreDamaged
        case sessionStoreNewer
        case sessionNotSealed
        case sessionNotKept
        case assertionNotSigned
        case identityTooLarge
        case assertionNoKey
        case assertionBadKeyFile
        case assertionTooManyKeys
        case fileUnusable
        case fileTooOpen
        case gatewayConfiguration
        case gatewaySecret
        case gatewayTracing
        case gatewayEventLoops
        case gatewayProcess
        case listenerBind
        case listenerOperations
        case listenerNoSockets
        case listenerNoSocket
        case listenerUnwantedSocket
        case listenerInherited
        case operationsSocket
        case operationsUnreachable
        case operationsRejected
        case certificateExpired
        case certificateNotYetValid
        case certificateExpiring
        case certificateWrongHost
        case certificateWeak
        case certificateWrongPurpose
        case revocationListExpired
        case revocationListExpiring
        case tlsCertificateUnreadable
        case tlsKeyUnreadable
        case tlsKeyMismatch
        case clientCertificateFiles
        case transportNoResources
        case transportUnsupportedLibrary
        case profilePayload
        case policyQuestion
        case policyLoss

        // The demo
        case demoProvider
        case demoQuirk
        case demoPort
        case demoFetch
        case demoFetchTimedOut
    }
}

extension Failure.Reason {
    private typealias Entry = Failure.Entry

    /// The code, status, page, advice and documentation of the failure.
    package var entry: Failure.Entry {
        switch self {
        case .openIDAttemptLost:
            Entry(
                "openid.attempt_lost",
                .malformedRequest,
                .signIn,
                page: .signInNotCompleted,
                documentation: """
                    The provider sent the browser back, but the browser has no cookie of this sign-in attempt: cookies \
                    are blocked, the browser deleted it, or the sign-in began in another browser.
                    """
            )
        case .openIDAttemptExpired:
            Entry(
                "openid.attempt_expired",
                .malformedRequest,
                .signIn,
                page: .signInExpired,
                documentation: "The user took more than ten minutes at the provider."
            )
        case .openIDAttemptSpent:
            Entry(
                "openid.attempt_spent",
                .malformedRequest,
                .signIn,
                page: .signInNotCompleted,
                documentation: "The callback was used before, for example by the browser's back button."
            )
        case .openIDAttemptID:
            Entry(
                "openid.attempt_id",
                .internalError,
                .signIn,
                documentation: "The gateway made an attempt without a valid id; a bug."
            )
        case .openIDStateMissing:
            Entry(
                "openid.state_missing",
                .malformedRequest,
                .signIn,
                page: .callbackNotUnderstood,
                documentation: """
                    The callback has no `state`. This also happens when a user installs a GitHub App and GitHub \
                    redirects here.
                    """
            )
        case .openIDStateMismatch:
            Entry(
                "openid.state_mismatch",
                .malformedRequest,
                .signIn,
                page: .signInNotCompleted,
                documentation: "The callback does not belong to this attempt."
            )
        case .openIDProviderMismatch:
            Entry(
                "openid.provider_mismatch",
                .malformedRequest,
                .signIn,
                page: .signInStopped,
                documentation: """
                    The callback came to the endpoint of another provider than the one that the attempt began with.
                    """
            )
        case .openIDCallback:
            Entry(
                "openid.callback",
                .malformedRequest,
                .signIn,
                page: .callbackNotUnderstood,
                documentation: "The callback is not a form."
            )
        case .openIDCallbackMalformed:
            Entry(
                "openid.callback_malformed",
                .malformedRequest,
                .signIn,
                page: .callbackNotUnderstood,
                documentation: "The callback has neither a code nor an error."
            )
        case .openIDRepeatedParameter:
            Entry(
                "openid.repeated_parameter",
                .malformedRequest,
                .signIn,
                page: .callbackNotUnderstood,
                documentation: "A parameter of the callback is repeated."
            )
        case .openIDParameterValue:
            Entry(
                "openid.parameter_value",
                .malformedRequest,
                .signIn,
                page: .callbackNotUnderstood,
                documentation: """
                    A parameter of the callback is empty, too long or has characters that are not allowed.
                    """
            )
        case .openIDTokenInCallback:
            Entry(
                "openid.token_in_callback",
                .malformedRequest,
                .signIn,
                page: .callbackNotUnderstood,
                documentation: "The callback carries a token, which the code flow never does."
            )
        case .openIDIssuerMissing:
            Entry(
                "openid.issuer_missing",
                .malformedRequest,
                .signIn,
                page: .signInStopped,
                advice: "remove require_iss from {section}, unless the provider is known to send iss",
                documentation: """
                    The provider announces that it names itself in callbacks, or `require_iss` demands it, and this \
                    callback has no `iss`. RFC 9207.
                    """
            )
        case .openIDIssuerMismatch:
            Entry(
                "openid.issuer_mismatch",
                .malformedRequest,
                .signIn,
                page: .signInStopped,
                advice: """
                    write the issuer into {section}.issuer exactly as the provider's discovery document spells it
                    """,
                documentation: """
                    The callback (400) or the provider's discovery document (502) names another issuer than the \
                    configuration. Compare `issuer` in `providers.yaml` with the document, letter by letter.
                    """
            )
        case .openIDDiscoveryIssuerMismatch:
            Entry(
                "openid.issuer_mismatch",
                .providerFailed,
                .signIn,
                page: .providerMisconfigured,
                advice: """
                    write the issuer into {section}.issuer exactly as the provider's discovery document spells it
                    """
            )
        case .providerInteractionRequired:
            Entry(
                "provider.interaction_required",
                .forbidden,
                .signIn,
                page: .providerInteraction,
                documentation: """
                    The provider has to ask the user something, such as consent, but `prompt: none` in \
                    `authorization_parameters` forbids it. The user signs in at the provider first.
                    """
            )
        case .openIDCodeRefused:
            Entry(
                "openid.code_refused",
                .malformedRequest,
                .signIn,
                page: .signInNotCompleted,
                advice: """
                    compare the registered callback with {callback}, letter by letter; a code works once and for \
                    minutes
                    """,
                documentation: "The provider rejects the code: it was used before or is too old."
            )
        case .openIDSessionTransferTooLong:
            Entry(
                "openid.handover_too_long",
                .malformedRequest,
                .signIn,
                page: .accountTooLarge,
                documentation: """
                    The session ticket that the attempt has to carry is longer than an attempt can hold.
                    """
            )
        case .sessionNone:
            Entry(
                "session.none",
                .signInRequired,
                .signIn,
                documentation: """
                    There is no session. `GET /oauth2/userinfo` and, for scripts, `GET /oauth2/apps` return it.
                    """
            )
        case .sessionTooLarge:
            Entry(
                "session.too_large",
                .internalError,
                .signIn,
                page: .accountTooLarge,
                documentation: """
                    With `sessions.store: cookie:` the session of this user does not fit into cookies, usually because of \
                    roles, or of groups that rules name. Map fewer of them in the provider's `profile`, or use another \
                    store; see [sessions.md](sessions.md#sessions-in-cookies).
                    """
            )
        case .signInRequired:
            Entry(
                "sign_in_required",
                .signInRequired,
                .signIn,
                documentation: """
                    A script requested an app that needs a session, and has none that the app accepts. The JSON has \
                    the URL to open in a window as `sign_in`, and in `help` which cookie a client without a browser \
                    sends; see [compatibility.md](compatibility.md#clients-without-a-browser).
                    """
            )
        case .tokenRejected:
            Entry(
                "token.rejected",
                .signInRequired,
                .signIn,
                documentation: """
                    The bearer token or the service token of a request is not valid for the app. The log line has the rule \
                    that it breaks; the client gets 401 with `invalid_token`. See [machines.md](machines.md#rejected-tokens).
                    """
            )
        case .signInReturnTooLong:
            Entry(
                "signin.return_too_long",
                .malformedRequest,
                .signIn,
                page: .returnPathTooLong,
                documentation: """
                    The user is signed in, but the URL that they came from has more than 8 KiB, or is too long for cookies \
                    beside those that the browser has; see [sessions.md](sessions.md#long-urls). The page leads to the app.
                    """
            )
        case .signInReturnLost:
            Entry(
                "signin.return_lost",
                .malformedRequest,
                .signIn,
                page: .returnPathLost,
                documentation: """
                    The browser no longer has the cookie with the URL that the user came from, which is too long to travel \
                    otherwise: it is over an hour old, was deleted, or was replaced by those of later sign-ins. The page \
                    leads to the app. See [sessions.md](sessions.md#long-urls).
                    """
            )
        case .signInFormNotSent:
            Entry(
                "signin.form_not_sent",
                .signInRequired,
                .signIn,
                page: .formNotSent,
                documentation: """
                    A user sent a form to an app, and the session had ended meanwhile, or a rule asks for a passkey. The app \
                    did not get it, and a sign-in could not bring it back. The button of the page leads to the \
                    sign-in and then to the page with the form.
                    """
            )
        case .signInSignedOut:
            Entry(
                "signin.signed_out",
                .forbidden,
                .signIn,
                page: .signedOutMeanwhile,
                documentation: """
                    The user was signed out while the sign-in was in progress: by the provider, or everywhere from \
                    another browser. The sign-in has ended as well; a new one is possible at once.
                    """
            )
        case .policyRefused:
            Entry(
                "policy.refused",
                .forbidden,
                .signIn,
                page: .accessDenied,
                documentation: "The user is signed in and no entry of the app's `allow` matches."
            )
        case .policyEmailNotAuthoritative:
            Entry(
                "policy.email_not_authoritative",
                .forbidden,
                .signIn,
                page: .accessDenied,
                documentation: """
                    An entry of `allow` matches the verified email address, but the provider is not the authority for \
                    it: a private Google account with an email address of another domain, for example. See \
                    [profile.md](profile.md); `authoritative: false` in the entry accepts such addresses.
                    """
            )
        case .policyDenied:
            Entry(
                "policy.denied",
                .forbidden,
                .signIn,
                page: .accessDenied,
                documentation: "An entry of the app's `deny` matches the user; the log names its line."
            )
        case .policyEmailUnknown:
            Entry(
                "policy.email_unknown",
                .forbidden,
                .signIn,
                page: .accessUndecided,
                documentation: """
                    An entry of `deny` names an email address or a domain, and the provider sent no verified email \
                    address of the user, so the gateway cannot decide whether it matches. Add `provider` to the entry \
                    to exempt users of a provider without verified email addresses.
                    """
            )
        case .policyGroupsUnknown:
            Entry(
                "policy.groups_unknown",
                .forbidden,
                .signIn,
                page: .accessUndecided,
                documentation: """
                    An entry of `deny` names a group, and the provider did not send all groups of the user, so the \
                    gateway cannot decide whether it matches. The log names the provider; `docs/providers/` explains \
                    why its list can be incomplete. A new sign-in requests the groups again.
                    """
            )
        case .policyFactUnknown:
            Entry(
                "policy.fact_unknown",
                .forbidden,
                .signIn,
                page: .accessUndecided,
                documentation: """
                    A rule asks for a role, a tenant, the network of the client, the time of the authentication or the \
                    message to an MCP server, and the gateway does not know it; the log names the fact. See \
                    [policy.md](policy.md#what-is-unknown) and [mcp.md](mcp.md#rules).
                    """
            )
        case .policyScope:
            Entry(
                "policy.scope",
                .forbidden,
                .signIn,
                page: .accessDenied,
                documentation: """
                    The access token lacks a scope that a rule of the app asks for, and with it the user would be admitted. \
                    `WWW-Authenticate` has `error="insufficient_scope"` and the scopes to ask for at `/oauth2/authorize`. See \
                    [policy.md](policy.md#scopes).
                    """
            )
        case .policyCertificate:
            Entry(
                "policy.certificate",
                .forbidden,
                .signIn,
                page: .certificateNeeded,
                documentation: """
                    A rule with `certificate` decides about the app, and the request came with no certificate of a client that was \
                    verified. See [client-certificates.md](client-certificates.md).
                    """
            )
        case .policyAuthenticationStale:
            Entry(
                "policy.authentication_stale",
                .forbidden,
                .signIn,
                page: .authenticationStale,
                documentation: """
                    A rule with `authenticated` asks for a recent authentication. The provider was asked for one \
                    (`max_age`) and reported an earlier one in `auth_time`. See [policy.md](policy.md#authenticated).
                    """
            )
        case .providerDenied:
            Entry(
                "provider.denied",
                .forbidden,
                .signIn,
                page: .notSignedIn,
                advice: """
                    the user denied it, or an administrator has to allow the app at the provider first
                    """,
                documentation: "The user, or an administrator at the provider, denied the sign-in."
            )
        case .providerHostedDomain:
            Entry(
                "provider.hosted_domain",
                .forbidden,
                .signIn,
                page: .otherOrganization,
                advice: "sign in with an account of {hosted_domains}, or change hosted_domains",
                documentation: "The Google account does not belong to one of the `hosted_domains`."
            )
        case .providerTenant:
            Entry(
                "provider.tenant",
                .forbidden,
                .signIn,
                page: .otherOrganization,
                advice: "sign in with an account of the tenant in {section}, or change tenant or tenants",
                documentation: """
                    The Microsoft account belongs to another tenant than `tenant` and `tenants` allow.
                    """
            )
        case .providerWorkspace:
            Entry(
                "provider.workspace",
                .forbidden,
                .signIn,
                page: .otherOrganization,
                advice: "sign in with an account of {workspaces}, or change workspaces",
                documentation: "The Slack account does not belong to one of the `workspaces`."
            )
        case .providerRedirect:
            Entry(
                "provider.redirect",
                .malformedRequest,
                .signIn,
                shown: "command",
                documentation: """
                    `gatehouse try` cannot test this provider: it accepts no callback on this machine.
                    """
            )
        case .signInTooOften:
            Entry(
                "signin.too_often",
                .tooMany,
                .signIn,
                documentation: """
                    One browser started more sign-ins within a minute than `limits.sign_ins_per_minute` allows, or one \
                    client IP ten times as many. Behind a proxy: is it in `trusted_proxies`?
                    """
            )
        case .signInFailing:
            Entry(
                "signin.failing",
                .tooMany,
                .signIn,
                documentation: """
                    One client IP sent more callbacks without an attempt within a minute than \
                    `limits.failed_sign_ins_per_minute` allows.
                    """
            )
        case .signInTooMany:
            Entry(
                "signin.too_many",
                .overloaded,
                .signIn,
                retry: .within(1...10),
                documentation: """
                    `limits.sign_ins_in_flight` sign-ins are in progress; usually a provider is slow.
                    """
            )
        case .signInOverloaded:
            Entry(
                "signin.overloaded",
                .overloaded,
                .signIn,
                retry: .within(1...10),
                documentation: """
                    Memory or file descriptors are short, or the event loops are late, so the gateway starts no \
                    sign-in; see [running.md](running.md#overload).
                    """
            )
        case .providerNone:
            Entry(
                "provider.none",
                .noSuchRoute,
                .signIn,
                page: .providerNotFound,
                documentation: "`providers.yaml` has no provider of this name."
            )
        case .accountCredentials:
            Entry(
                "account.credentials",
                .forbidden,
                .signIn,
                page: .credentialsWrong,
                documentation: """
                    A local account: a wrong password or code, a name without an account, or a disabled account. The page \
                    shows the same in all cases, the log line names the case. See [accounts.md](accounts.md#guessing).
                    """
            )
        case .accountTooMany:
            Entry(
                "account.too_many",
                .tooMany,
                .signIn,
                documentation: """
                    Too many passwords or codes were tried for one local account, so this one was not looked at. See \
                    [accounts.md](accounts.md#guessing).
                    """
            )
        case .accountBusy:
            Entry(
                "account.busy",
                .overloaded,
                .signIn,
                retry: .within(1...10),
                documentation: """
                    Too many passwords of local accounts wait to be hashed. The limit keeps the CPU and the memory for \
                    users who are signed in.
                    """
            )
        case .accountLink:
            Entry(
                "account.link",
                .malformedRequest,
                .signIn,
                page: .linkOver,
                documentation: """
                    A link by which a user chooses a password was used before, has expired or was replaced by a later one. \
                    `gatehouse users reset` makes another.
                    """
            )
        case .accountNameTaken:
            Entry(
                "account.name_taken",
                .malformedRequest,
                .signIn,
                status: 409,
                shown: "`gatehouse users`",
                documentation: "An account with this email address or user name exists already."
            )
        case .accountUnreadable:
            Entry(
                "account.unreadable",
                .internalError,
                .signIn,
                advice: """
                    restore the gateway secret that sealed the entry, as an earlier one in `gateway.secrets` or in the state \
                    folder; entries are sealed again with the present secret within the hour
                    """,
                documentation: """
                    A local account or the passkeys of a user cannot be opened with any secret of the gateway: a secret was \
                    removed, or the store is a copy from another gateway. Nothing is overwritten. See [keys.md](keys.md).
                    """
            )
        case .accountConnected:
            Entry(
                "account.connected",
                .forbidden,
                .signIn,
                status: 409,
                page: .accountNotConnected,
                documentation: """
                    An account was not connected with that of the session: it is connected with others, is the same one, is one too \
                    many, or the session in which the user began has ended. See [connected-accounts.md](connected-accounts.md).
                    """
            )
        case .accountDisabled:
            Entry(
                "account.disabled",
                .forbidden,
                .signIn,
                page: .accessDenied,
                documentation: """
                    The account of the sign-in is connected with a local account by which apps know its user, and an operator has \
                    disabled that one. See [connected-accounts.md](connected-accounts.md).
                    """
            )
        case .mailNotSent:
            Entry(
                "mail.not_sent",
                .overloaded,
                .signIn,
                advice: "look for 'mail not sent' in the log, and check 'mail' with `gatehouse check --online`",
                documentation: """
                    A message with a link could not be queued: too many wait, the mailbox has got five within an hour, or its email \
                    address needs SMTPUTF8, which is not supported. See [accounts.md](accounts.md#email).
                    """
            )
        case .passkeyRejected:
            Entry(
                "passkey.rejected",
                .forbidden,
                .signIn,
                page: .passkeyNotAccepted,
                documentation: """
                    The response to a request for a passkey breaks a rule of WebAuthn: it is of another origin or challenge, \
                    its signature is wrong, the device did not verify the user, or the passkey was removed. The log line \
                    names the rule. See [passkeys.md](passkeys.md).
                    """
            )
        case .passkeyCloned:
            Entry(
                "passkey.cloned",
                .forbidden,
                .signIn,
                page: .passkeyCopied,
                advice: """
                    talk to the user, then remove the passkey with `gatehouse passkeys remove`; if it was copied, end the \
                    user's sessions with `gatehouse sessions revoke`
                    """,
                documentation: """
                    The signature counter of a passkey did not grow, so a copy of the authenticator may be in use \
                    (WebAuthn §6.1.1). The passkey is not accepted as long as its counter is behind.
                    """
            )
        case .passkeyConflict:
            Entry(
                "passkey.conflict",
                .forbidden,
                .signIn,
                status: 409,
                page: .passkeyNotAdded,
                documentation: """
                    A passkey was not added: the user has as many as are allowed, has added this one before, or has added \
                    the first one in another window at the same time.
                    """
            )
        case .passkeyLate:
            Entry(
                "passkey.late",
                .forbidden,
                .signIn,
                page: .passkeyNotAccepted,
                documentation: """
                    A form about passkeys was open for more than ten minutes, was sent before, or is of an earlier sign-in. The \
                    page has a new one.
                    """
            )
        case .clientRequest:
            Entry(
                "client.request",
                .malformedRequest,
                .signIn,
                page: .appNotKnown,
                documentation: """
                    A client of `clients` sent the browser with a request that gets no redirect, since `client_id` or \
                    `redirect_uri` is not one of the file. The detail names it.
                    """
            )
        case .clientRejected:
            Entry(
                "client.rejected",
                .malformedRequest,
                .signIn,
                documentation: """
                    A client of `clients` got an error of OAuth 2.0, in the redirect or as JSON: `error` and \
                    `error_description` are in the detail. See [clients.md](clients.md#errors).
                    """
            )
        case .sessionTransferParameters:
            Entry(
                "handover.parameters",
                .malformedRequest,
                .sessionTransfer,
                page: .transferNotCompleted,
                documentation: "The URL has neither a request nor a code."
            )
        case .sessionTransferRequest:
            Entry(
                "handover.request",
                .malformedRequest,
                .sessionTransfer,
                page: .transferNotCompleted,
                documentation: """
                    The request of the app's host is not from this gateway, is too old, or its host is no longer in \
                    `providers.yaml`.
                    """
            )
        case .sessionTransferCode:
            Entry(
                "handover.code",
                .malformedRequest,
                .sessionTransfer,
                page: .transferNotCompleted,
                documentation: "The code is not from this gateway, or it is older than 60 seconds."
            )
        case .sessionTransferSpent:
            Entry(
                "handover.spent",
                .malformedRequest,
                .sessionTransfer,
                page: .transferNotCompleted,
                documentation: """
                    The code was used before, or it came to the wrong browser or host before, which invalidates it.
                    """
            )
        case .sessionTransferTooOften:
            Entry(
                "handover.too_often",
                .tooMany,
                .sessionTransfer,
                documentation: """
                    One session requested more than 60 session transfers within a minute; usually a page opens others \
                    in a loop.
                    """
            )
        case .sessionTransferWrongOrigin:
            Entry(
                "handover.wrong_origin",
                .malformedRequest,
                .sessionTransfer,
                page: .transferNotCompleted,
                documentation: "The code is for another host."
            )
        case .sessionTransferOtherBrowser:
            Entry(
                "handover.other_browser",
                .malformedRequest,
                .sessionTransfer,
                page: .transferNotCompleted,
                documentation: "The code came with another browser than the one that requested it."
            )
        case .logoutRequest:
            Entry(
                "logout.request",
                .malformedRequest,
                .logout,
                documentation: "The body is not a form with exactly one `logout_token`, or is not a form at all."
            )
        case .logoutToken:
            Entry(
                "logout.token",
                .malformedRequest,
                .logout,
                documentation: """
                    The logout token is not valid: not signed by the provider, not for this client, too old, without a \
                    logout event, with a `nonce`, without `jti`, or with neither `sub` nor `sid`. The log has the rule, the \
                    received and the expected value.
                    """
            )
        case .logoutReplayed:
            Entry(
                "logout.replayed",
                .malformedRequest,
                .logout,
                documentation: "A logout token with this `jti` was accepted before; its sessions have ended."
            )
        case .logoutUnverified:
            Entry(
                "logout.unverified",
                .overloaded,
                .logout,
                documentation: """
                    The logout token cannot be verified now, so no session has ended: its key is unknown, or the \
                    provider's metadata or keys cannot be fetched. The gateway fetches the keys for an unknown name at \
                    most once in 30 seconds. The log has the code of the failure.
                    """
            )
        case .logoutTooOften:
            Entry(
                "logout.too_often",
                .tooMany,
                .logout,
                documentation: """
                    One client IP posted more invalid logout tokens within a minute than \
                    `limits.failed_sign_ins_per_minute` allows. Behind a proxy: is it in `trusted_proxies`?
                    """
            )
        case .logoutBusy:
            Entry(
                "logout.busy",
                .overloaded,
                .logout,
                documentation: "100 logouts of this provider are in progress; usually its keys are slow to come."
            )
        case .idTokenMalformed:
            Entry(
                "id_token.malformed",
                .providerFailed,
                .idToken,
                page: .providerMisconfigured,
                advice: Self.untrustedToken,
                documentation: "It is not a signed JWT, it is too large, or it is a token for another purpose."
            )
        case .idTokenSize:
            Entry("id_token.size", .providerFailed, .idToken, page: .providerMisconfigured, advice: Self.untrustedToken)
        case .idTokenType:
            Entry("id_token.type", .providerFailed, .idToken, page: .providerMisconfigured, advice: Self.untrustedToken)
        case .idTokenEncrypted:
            Entry(
                "id_token.encrypted",
                .providerFailed,
                .idToken,
                page: .providerMisconfigured,
                advice: """
                    turn the encryption of ID tokens off for this client at the provider; the gateway reads signed \
                    ones only
                    """,
                documentation: """
                    It is encrypted. Turn encryption off for this client at the provider; the gateway reads signed \
                    tokens only.
                    """
            )
        case .idTokenUnsigned:
            Entry(
                "id_token.unsigned",
                .providerFailed,
                .idToken,
                page: .providerMisconfigured,
                advice: Self.untrustedToken,
                documentation: """
                    It is not signed, or signed with an algorithm that this provider must not use. The log names the \
                    algorithm, the allowed ones, and the line to change here or at the provider: \
                    [oidc.md](providers/oidc.md#signatures).
                    """
            )
        case .idTokenAlgorithm:
            Entry(
                "id_token.algorithm",
                .providerFailed,
                .idToken,
                page: .providerMisconfigured,
                advice: """
                    change what is named above, here in {section}.id_token_algorithms or at the provider
                    """
            )
        case .idTokenCriticalHeader:
            Entry(
                "id_token.critical_header",
                .providerFailed,
                .idToken,
                page: .providerMisconfigured,
                advice: Self.untrustedToken,
                documentation: "It demands an extension that the gateway does not support."
            )
        case .idTokenKeyID:
            Entry(
                "id_token.key_id",
                .providerFailed,
                .idToken,
                page: .providerMisconfigured,
                advice: Self.untrustedToken,
                documentation: """
                    Its key has no valid name, is not among the provider's keys, or is the key of another issuer. The \
                    gateway fetches the keys for an unknown name at most once in 30 seconds: after a second change of \
                    keys within that time, sign-ins fail until it is over.
                    """
            )
        case .idTokenKeyUnknown:
            Entry("id_token.key_unknown", .providerFailed, .idToken, advice: Self.untrustedToken)
        case .idTokenKeyIssuer:
            Entry(
                "id_token.key_issuer",
                .providerFailed,
                .idToken,
                page: .providerMisconfigured,
                advice: Self.untrustedToken
            )
        case .idTokenSignature:
            Entry(
                "id_token.signature",
                .providerFailed,
                .idToken,
                page: .providerMisconfigured,
                advice: Self.untrustedToken,
                documentation: "The signature is wrong."
            )
        case .idTokenIssuer:
            Entry(
                "id_token.issuer",
                .providerFailed,
                .idToken,
                page: .providerMisconfigured,
                advice: Self.untrustedToken,
                documentation: """
                    It is from another issuer, for another client, or has no usable subject. If it is for this client \
                    and for others, list those in `trusted_audiences`.
                    """
            )
        case .idTokenAudience:
            Entry(
                "id_token.audience",
                .providerFailed,
                .idToken,
                page: .providerMisconfigured,
                advice: """
                    compare client_id in {section} with the registration; list others that are in the audience in \
                    {section}.trusted_audiences
                    """
            )
        case .idTokenAuthorizedParty:
            Entry(
                "id_token.authorized_party",
                .providerFailed,
                .idToken,
                page: .providerMisconfigured,
                advice: Self.untrustedToken
            )
        case .idTokenSubject:
            Entry(
                "id_token.subject",
                .providerFailed,
                .idToken,
                page: .providerMisconfigured,
                advice: Self.untrustedToken
            )
        case .idTokenExpired:
            Entry(
                "id_token.expired",
                .providerFailed,
                .idToken,
                page: .providerMisconfigured,
                advice: Self.untrustedToken,
                documentation: """
                    Its times are wrong. If all providers fail: is the gateway's clock right? `id_token.lifetime`: it \
                    lives longer than `id_token_lifetime`.
                    """
            )
        case .idTokenIssuedAt:
            Entry(
                "id_token.issued_at",
                .providerFailed,
                .idToken,
                page: .providerMisconfigured,
                advice: Self.untrustedToken
            )
        case .idTokenNotBefore:
            Entry(
                "id_token.not_before",
                .providerFailed,
                .idToken,
                page: .providerMisconfigured,
                advice: Self.untrustedToken
            )
        case .idTokenLifetime:
            Entry(
                "id_token.lifetime",
                .providerFailed,
                .idToken,
                page: .providerMisconfigured,
                advice: "let {section}.id_token_lifetime be as long as the provider's ID tokens live"
            )
        case .idTokenNonce:
            Entry(
                "id_token.nonce",
                .providerFailed,
                .idToken,
                page: .signInNotCompleted,
                advice: "if the provider never sends the nonce back, set nonce: if_present in {section}",
                documentation: "It does not belong to this attempt."
            )
        case .idTokenAccessTokenHash:
            Entry(
                "id_token.access_token_hash",
                .providerFailed,
                .idToken,
                page: .providerMisconfigured,
                advice: Self.untrustedToken,
                documentation: "It does not belong to the access token beside it."
            )
        case .openIDClientRefused:
            Entry(
                "openid.client_refused",
                .providerFailed,
                .provider,
                page: .providerMisconfigured,
                advice: """
                    compare client_id and client_secret in {section} with the registration at the provider; a secret \
                    may have expired there
                    """,
                documentation: """
                    The provider rejects `client_id` with `client_secret` or `private_key`, or the redirect URI; the \
                    log has its message and what to check.
                    """
            )
        case .openIDClientAuthentication:
            Entry(
                "openid.client_authentication",
                .providerFailed,
                .provider,
                page: .providerMisconfigured,
                advice: """
                    set client_authentication in {section} to one that the provider offers; 'gatehouse check --online' \
                    lists them
                    """,
                documentation: """
                    The provider's metadata offer no client authentication that the configuration supports: it wants a \
                    secret where there is a key, a key where there is a secret, or another method.
                    """
            )
        case .openIDPushedAuthorization:
            Entry(
                "openid.pushed_authorization",
                .providerFailed,
                .provider,
                page: .providerMisconfigured,
                documentation: """
                    `pushed_authorization` is on and the provider has no endpoint for it, or it is off and the \
                    provider requires it; or its response has no usable `request_uri`. RFC 9126.
                    """
            )
        case .openIDMetadata:
            Entry(
                "openid.metadata",
                .providerFailed,
                .provider,
                page: .providerMisconfigured,
                advice: """
                    look at the provider's discovery document; 'gatehouse check --online' names what is missing
                    """,
                documentation: """
                    The discovery document lacks something, or has a URL that is not https; 500 if the provider's type \
                    has no endpoints.
                    """
            )
        case .openIDEndpointsMissing:
            Entry(
                "openid.metadata",
                .internalError,
                .provider,
                advice: """
                    look at the provider's discovery document; 'gatehouse check --online' names what is missing
                    """
            )
        case .openIDKeySet:
            Entry(
                "openid.key_set",
                .providerFailed,
                .provider,
                documentation: "The provider's keys cannot be read."
            )
        case .openIDTokenResponse:
            Entry(
                "openid.token_response",
                .providerFailed,
                .provider,
                documentation: """
                    The response to the code does not follow the standard: an OpenID provider sends JSON as \
                    `application/json`.
                    """
            )
        case .openIDTokenType:
            Entry("openid.token_type", .providerFailed, .provider, page: .providerMisconfigured)
        case .openIDMissingIDToken:
            Entry(
                "openid.id_token_missing",
                .providerFailed,
                .provider,
                page: .providerMisconfigured,
                advice: """
                    the scope 'openid' must be requested in {section}.scopes and allowed at the provider
                    """
            )
        case .openIDUserinfoSubject:
            Entry(
                "openid.userinfo_subject",
                .providerFailed,
                .provider,
                page: .providerMisconfigured,
                documentation: "Userinfo is about another subject than the ID token."
            )
        case .openIDUserinfoToken:
            Entry(
                "openid.userinfo_token",
                .providerFailed,
                .provider,
                page: .providerMisconfigured,
                documentation: """
                    Userinfo is a signed token that is not valid, or an encrypted one; the log has the code of the \
                    rule, as for ID tokens.
                    """
            )
        case .providerUserinfoUnavailable:
            Entry(
                "provider.userinfo_unavailable",
                .providerFailed,
                .provider,
                shown: "log only",
                documentation: """
                    Userinfo did not respond, or without claims about the user, who signed in with the claims of the ID \
                    token. For rules, what only userinfo contains is unknown.
                    """
            )
        case .providerSubject:
            Entry(
                "provider.subject",
                .providerFailed,
                .provider,
                page: .providerMisconfigured,
                advice: """
                    the profile needs an id: see {section}.profile.subject, and 'gatehouse profile' to test it with \
                    saved responses
                    """,
                documentation: "The provider sent no usable id of the user."
            )
        case .providerAPIRefused:
            Entry(
                "provider.api_refused",
                .providerFailed,
                .provider,
                page: .providerMisconfigured,
                documentation: """
                    The provider rejected the call that returns the user's profile; the log has its message. Often the \
                    app lacks a scope or a permission.
                    """
            )
        case .providerTokenRejected:
            Entry(
                "provider.token_rejected",
                .providerFailed,
                .provider,
                shown: "log only",
                documentation: """
                    At a re-check the provider's API rejected an access token that it had just refreshed; the session \
                    continues until `sessions.max_stale`, and the re-check is repeated.
                    """
            )
        case .providerGrantEnded:
            Entry(
                "provider.grant_ended",
                .signInRequired,
                .provider,
                shown: "log only",
                documentation: """
                    At a re-check the provider no longer confirmed the user (`invalid_grant` and the like): the account \
                    was disabled, the user signed out there, or the grant was revoked or has expired. The user's session \
                    has ended; see [sessions.md](sessions.md#re-checks).
                    """
            )
        case .providerGroupsIncomplete:
            Entry(
                "provider.groups_incomplete",
                .providerFailed,
                .provider,
                shown: "log only",
                documentation: """
                    The user signed in, but the gateway could not read all groups; the log names the lookup and the \
                    reason. For rules, the groups are unknown.
                    """
            )
        case .providerRefused:
            Entry(
                "provider.refused",
                .providerFailed,
                .provider,
                page: .providerMisconfigured,
                documentation: """
                    The provider responded to the sign-in with an error; the log has its text. Often the redirect URI \
                    is not registered there.
                    """
            )
        case .providerUnavailable:
            Entry(
                "provider.unavailable",
                .providerFailed,
                .provider,
                documentation: """
                    The provider responded with an error of its own, or its documents could not be fetched.
                    """
            )
        case .providerUnreachable:
            Entry(
                "provider.unreachable",
                .providerFailed,
                .provider,
                documentation: "No connection, a lost one, or no response in time."
            )
        case .providerConnectionLost:
            Entry("provider.connection_lost", .providerFailed, .provider)
        case .providerTimeout:
            Entry("provider.timeout", .providerFailed, .provider)
        case .providerTLS:
            Entry(
                "provider.tls",
                .providerFailed,
                .provider,
                page: .providerMisconfigured,
                advice: "with a private certificate authority set tls.ca_file in {section}",
                documentation: """
                    The provider does not prove its name. The log has the reason: its certificate has expired, is for \
                    another host name or of an unknown issuer (for a private authority: is `tls.ca_file` right?), its \
                    TLS is older than 1.2, or the port does not speak TLS. `gatehouse check --online` reports it too.
                    """
            )
        case .providerPinMismatch:
            Entry(
                "provider.pin_mismatch",
                .providerFailed,
                .provider,
                status: 503,
                retry: .after(30),
                page: .providerNotVerified,
                documentation: """
                    The provider was verified, but has none of the keys in `tls.pins`; nothing was sent to it. See \
                    [pinning.md](pinning.md).
                    """
            )
        case .providerPinsExpired:
            Entry(
                "provider.pins_expired",
                .providerFailed,
                .provider,
                status: 503,
                retry: .after(30),
                page: .providerNotVerified,
                documentation: "The pins have expired and `on_expiry: reject` is set."
            )
        case .providerPinMissing:
            Entry(
                "provider.pin_missing",
                .providerFailed,
                .provider,
                status: 503,
                retry: .after(30),
                page: .providerNotVerified,
                documentation: """
                    The provider named a host that has no pins, while pins are enforced; list it under \
                    `tls.pins.hosts`.
                    """
            )
        case .providerPinInsecure:
            Entry(
                "provider.pin_insecure",
                .providerFailed,
                .provider,
                status: 503,
                retry: .after(30),
                page: .providerNotVerified,
                documentation: "Plain http has no key to pin, so it is rejected where pins are enforced."
            )
        case .providerProxy:
            Entry(
                "provider.proxy",
                .providerFailed,
                .provider,
                documentation: """
                    The proxy that `proxy` names responded and opened no tunnel to the provider; the log has its \
                    status.
                    """
            )
        case .providerCAFile:
            Entry(
                "provider.ca_file",
                .internalError,
                .provider,
                shown: "start, reload",
                documentation: "The file that `tls.ca_file` names cannot be read, or has more than 1 MiB."
            )
        case .providerRedirected:
            Entry(
                "provider.redirected",
                .providerFailed,
                .provider,
                page: .providerMisconfigured,
                documentation: "The provider responded with a redirect where none is allowed."
            )
        case .providerContentType:
            Entry(
                "provider.content_type",
                .providerFailed,
                .provider,
                documentation: "The response is not JSON, not valid JSON, or not valid HTTP."
            )
        case .providerMalformedJSON:
            Entry("provider.malformed_json", .providerFailed, .provider)
        case .providerResponseMalformed:
            Entry("provider.answer_malformed", .providerFailed, .provider)
        case .providerTooLarge:
            Entry(
                "provider.too_large",
                .providerFailed,
                .provider,
                documentation: "The response is larger than its limit."
            )
        case .providerResponseTooLarge:
            Entry("provider.answer_too_large", .providerFailed, .provider)
        case .providerInsecureURL:
            Entry(
                "provider.insecure_address",
                .providerFailed,
                .provider,
                page: .providerMisconfigured,
                documentation: "A call would have used plain http."
            )
        case .providerCancelled:
            Entry(
                "provider.cancelled",
                .providerFailed,
                .provider,
                documentation: "The browser disconnected during the call."
            )
        case .providerQueueFull:
            Entry(
                "provider.queue_full",
                .overloaded,
                .provider,
                documentation: """
                    The gateway cannot make more calls to providers now; `provider.queue_full`: a call waited for one \
                    of `max_connections` until its timeout.
                    """
            )
        case .providerNoResources:
            Entry("provider.no_resources", .overloaded, .provider)
        case .providerShutDown:
            Entry("provider.shut_down", .overloaded, .provider)
        case .providerBusy:
            Entry(
                "provider.busy",
                .overloaded,
                .provider,
                documentation: """
                    The provider is slower than users sign in: a sign-in would wait for more than 10 seconds until one \
                    of `max_connections` is free. `Retry-After` is the time until the page can be reloaded; the callback stays \
                    valid. Also: 400 users wait for this provider, or half of `max_connections` send pushed \
                    authorization requests. See [running.md](running.md#a-slow-provider).
                    """
            )
        case .providerPrivateKey:
            Entry(
                "provider.private_key",
                .internalError,
                .provider,
                shown: "start, 500",
                advice: """
                    make a key that the provider accepts, and name its PEM file in {section}.private_key
                    """,
                documentation: """
                    `private_key` or `certificate` of the provider that the detail names cannot be used: not PEM, \
                    encrypted, too short, of another kind, or the certificate of another key.
                    """
            )
        case .providerBadRequest:
            Entry(
                "provider.bad_request",
                .internalError,
                .provider,
                documentation: """
                    The gateway attempted a call that it must not make, or a provider's settings are incomplete; a \
                    bug, or a provider that was just removed.
                    """
            )
        case .providerUnknown:
            Entry("provider.unknown", .internalError, .provider)
        case .providerDefinition:
            Entry("provider.definition", .internalError, .provider)
        case .routeNone:
            Entry("route.none", .noSuchRoute, .request, documentation: "No app has this host and path.")
        case .routeMaintenance:
            Entry(
                "route.maintenance",
                .overloaded,
                .request,
                retry: .after(120),
                page: .maintenance,
                documentation: "The app has `maintenance: true`. Logged at info."
            )
        case .routeBodyTooLarge:
            Entry(
                "route.body_too_large",
                .tooLarge,
                .request,
                documentation: "The body of the request has more bytes than the app's `max_body`."
            )
        case .endpointNone:
            Entry(
                "endpoint.none",
                .noSuchRoute,
                .request,
                page: .endpointNotFound,
                documentation:
                    "The gateway has no such endpoint below `gateway.endpoint_prefix`, or not for this method."
            )
        case .endpointMethod:
            Entry("endpoint.method", .methodNotAllowed, .request)
        case .requestMisdirected:
            Entry(
                "request.misdirected",
                .noSuchRoute,
                .request,
                status: 421,
                page: .misdirected,
                documentation: """
                    The TLS certificate of the connection is not for this host, or the connection was made for a host that asks for no \
                    certificate of the client while this one does; the browser opens another connection.
                    """
            )
        case .clientCertificateMissing:
            Entry(
                "client_certificate.missing",
                .forbidden,
                .request,
                page: .certificateNeeded,
                documentation: """
                    The host requires a certificate of the client (`client_certificates`, `mode: require`), and the client presented \
                    none. See [client-certificates.md](client-certificates.md).
                    """
            )
        case .clientCertificateRejected:
            Entry(
                "client_certificate.rejected",
                .forbidden,
                .request,
                page: .certificateRejected,
                documentation: """
                    The host requires a certificate of the client, and the one that the client presented could not be verified; the \
                    detail has the reason, such as that it has expired or is revoked, or that the revocation list is too old.
                    """
            )
        case .clientCertificateHeader:
            Entry(
                "client_certificate.header",
                .malformedRequest,
                .request,
                documentation: """
                    A trusted proxy sent the certificate of its client in a form other than the configured one, more than once, or in \
                    another spelling of the header: the client may have sent it.
                    """
            )
        case .requestNotNavigation:
            Entry(
                "request.not_navigation",
                .forbidden,
                .request,
                page: .notNavigation,
                documentation: """
                    Something other than a navigation requested a step of a sign-in: an image or frame in another page, a \
                    script, or a browser that prefetches.
                    """
            )
        case .requestCrossSite:
            Entry(
                "request.cross_site",
                .forbidden,
                .request,
                page: .crossSite,
                documentation: "Another site made the browser send a request that changes something."
            )
        case .requestCrossSiteWebSocket:
            Entry(
                "request.cross_site_websocket",
                .forbidden,
                .request,
                documentation: """
                    A page of another origin opened a WebSocket. Add its origin to `websocket_origins` of the app to \
                    allow it; see [websockets.md](websockets.md#who-may-open-one).
                    """
            )
        case .requestWebSocket:
            Entry(
                "request.websocket",
                .malformedRequest,
                .request,
                documentation: "A WebSocket request is not a complete handshake; the log names what is missing."
            )
        case .requestWebSocketVersion:
            Entry(
                "request.websocket_version",
                .malformedRequest,
                .request,
                status: 426,
                documentation: "The handshake has another version than 13."
            )
        case .requestNoWebSocket:
            Entry(
                "request.no_websocket",
                .malformedRequest,
                .request,
                documentation: """
                    A WebSocket was requested over HTTP/2 where the app accepts none, or at an endpoint of the gateway \
                    itself.
                    """
            )
        case .requestTooManyWebSockets:
            Entry(
                "request.too_many_websockets",
                .tooMany,
                .request,
                documentation: """
                    A session has 64 WebSockets open on one event loop; usually a page opens them in a loop.
                    """
            )
        case .requestBodyTooLarge:
            Entry(
                "request.body_too_large",
                .tooLarge,
                .request,
                documentation: "The body of a request to the gateway itself has more than 16 KiB."
            )
        case .forwardAuthPeer:
            Entry(
                "forward_auth.peer",
                .forbidden,
                .request,
                documentation: """
                    A request for a decision from a peer that `gateway.forward_auth` does not list, or without that key; see \
                    [forward-auth.md](forward-auth.md).
                    """
            )
        case .forwardAuthRequest:
            Entry(
                "forward_auth.request",
                .malformedRequest,
                .request,
                documentation: """
                    A field with which the proxy describes the request is missing, repeated or malformed; the log names it.
                    """
            )
        case .forwardAuthURL:
            Entry(
                "forward_auth.url",
                .malformedRequest,
                .request,
                documentation: """
                    The proxy would forward a path in another spelling than the one decided about, such as `/a//b`; or a path \
                    below `gateway.endpoint_prefix`, which belongs to the gateway.
                    """
            )
        case .forwardAuthHeader:
            Entry(
                "forward_auth.header",
                .malformedRequest,
                .request,
                documentation: """
                    The client sent a field from which apps take an identity, and the proxy would not replace it; the log \
                    names it. Remove it in the proxy.
                    """
            )
        case .forwardAuthApp:
            Entry(
                "forward_auth.app",
                .forbidden,
                .request,
                documentation: "A proxy asks about an app that has no `forward_auth`."
            )
        case .forwardAuthOnly:
            Entry(
                "forward_auth.only",
                .forbidden,
                .request,
                documentation:
                    "A request reached the gateway for an app to which another proxy forwards: it has `forward_auth`."
            )
        case .forwardAuthAdmitted:
            Entry(
                "forward_auth.admitted",
                .upstreamFailed,
                .request,
                documentation: """
                    The proxy asked for the page of a rejection, but the request may pass: the proxy rejected it for another \
                    reason, or the session store was down.
                    """
            )
        case .gatewayTooManyWaiting:
            Entry(
                "gateway.too_many_waiting",
                .overloaded,
                .request,
                documentation: "Too many requests wait for the session store or a provider."
            )
        case .gatewayTooManyRequests:
            Entry(
                "gateway.too_many_requests",
                .overloaded,
                .request,
                retry: .within(1...10),
                documentation: "`limits.requests_in_flight` requests are in progress."
            )
        case .gatewayOverloaded:
            Entry(
                "gateway.overloaded",
                .overloaded,
                .request,
                retry: .within(1...10),
                documentation: """
                    Memory or file descriptors are nearly used up; see [running.md](running.md#overload).
                    """
            )
        case .wireBareLF:
            Entry(
                "wire.bare_lf",
                .malformedRequest,
                .wire,
                page: .unreadable,
                documentation: "Lines must end with CRLF."
            )
        case .wireBareCR:
            Entry("wire.bare_cr", .malformedRequest, .wire, page: .unreadable)
        case .wireEmptyLines:
            Entry("wire.empty_lines", .malformedRequest, .wire, page: .unreadable)
        case .wireFieldName:
            Entry(
                "wire.field_name",
                .malformedRequest,
                .wire,
                page: .unreadable,
                documentation: """
                    A field name is invalid, or with `_`, `.` or another such character it resembles one that frames \
                    the message, names the host or carries an identity: `Transfer_Encoding`, `X_Forwarded_User`. Other \
                    names with `_` or `.` are removed, see [compatibility.md](compatibility.md#header-names).
                    """
            )
        case .wireFieldValue:
            Entry(
                "wire.field_value",
                .malformedRequest,
                .wire,
                page: .unreadable,
                documentation: "A field value has a control character, or continues in the next line."
            )
        case .wireHeadTooLarge:
            Entry(
                "wire.head_too_large",
                .malformedRequest,
                .wire,
                status: 431,
                page: .headTooLarge,
                documentation: """
                    The head has more than 32 KiB, a field more than 16 KiB, or there are more than 100 fields.
                    """
            )
        case .wireFieldTooLarge:
            Entry("wire.field_too_large", .malformedRequest, .wire, status: 431, page: .headTooLarge)
        case .wireTooManyFields:
            Entry("wire.too_many_fields", .malformedRequest, .wire, status: 431, page: .headTooLarge)
        case .wireTargetTooLong:
            Entry(
                "wire.target_too_long",
                .malformedRequest,
                .wire,
                status: 414,
                page: .targetTooLong,
                documentation: "The URL has more than 8 KiB."
            )
        case .wireFieldSpace:
            Entry(
                "wire.field_space",
                .malformedRequest,
                .wire,
                page: .unreadable,
                documentation: """
                    A field over HTTP/2 has white space around its value, or bytes that no field may have.
                    """
            )
        case .wireFieldBytes:
            Entry("wire.field_block", .malformedRequest, .wire, page: .unreadable)
        case .wirePseudoField:
            Entry(
                "wire.pseudo_field",
                .malformedRequest,
                .wire,
                page: .unreadable,
                documentation: """
                    A request over HTTP/2 does not have each of `:method`, `:scheme`, `:authority` and `:path` once \
                    and first, or has fields such as `Connection` that only HTTP/1.1 knows.
                    """
            )
        case .wireConnectionField:
            Entry("wire.connection_field", .malformedRequest, .wire, page: .unreadable)
        case .requestScheme:
            Entry(
                "request.scheme",
                .malformedRequest,
                .wire,
                page: .unreadable,
                documentation: "A request over HTTP/2 is not for `https`."
            )
        case .wireTooSlow:
            Entry(
                "wire.too_slow",
                .malformedRequest,
                .wire,
                status: 408,
                page: .tooSlow,
                documentation: "The request did not arrive in time."
            )
        case .requestStartLine:
            Entry(
                "request.start_line",
                .malformedRequest,
                .wire,
                page: .unreadable,
                documentation: "The request line does not follow RFC 9112."
            )
        case .requestTarget:
            Entry("request.target", .malformedRequest, .wire, page: .unreadable)
        case .requestFragment:
            Entry("request.fragment", .malformedRequest, .wire, page: .unreadable)
        case .wireStreamOrder:
            Entry(
                "wire.stream_order",
                .malformedRequest,
                .wire,
                page: .unreadable,
                shown: "–",
                documentation: """
                    A client opened an HTTP/2 stream with a lower number than an earlier one; the connection is closed \
                    with PROTOCOL_ERROR. In the metrics only.
                    """
            )
        case .requestVersion:
            Entry(
                "request.version",
                .malformedRequest,
                .wire,
                page: .unreadable,
                documentation: "The version is invalid, or has another major version than HTTP/1."
            )
        case .requestVersionNotSupported:
            Entry("request.version_not_supported", .malformedRequest, .wire, status: 505, page: .unreadable)
        case .requestMethodNotAllowed:
            Entry(
                "request.method_not_allowed",
                .malformedRequest,
                .wire,
                status: 405,
                page: .methodNotAccepted,
                documentation: "`CONNECT`, `TRACE`, `TRACK` and `PRI` are never forwarded."
            )
        case .requestMethodUnknown:
            Entry(
                "request.method_unknown",
                .malformedRequest,
                .wire,
                status: 501,
                page: .methodNotAccepted,
                documentation: """
                    A common method in other letter case, such as `get`; or one of more than 32 bytes.
                    """
            )
        case .requestMethodTooLong:
            Entry("request.method_too_long", .malformedRequest, .wire, status: 501, page: .methodNotAccepted)
        case .routeMethod:
            Entry(
                "route.method",
                .methodNotAllowed,
                .wire,
                documentation: "The method is not one of the app's `methods`; `Allow` lists them."
            )
        case .requestHeaderName:
            Entry(
                "request.header_name",
                .malformedRequest,
                .wire,
                documentation: """
                    A field name has `_`, `.` or another such character, and the app has `underscore_headers: reject`.
                    """
            )
        case .requestHost:
            Entry(
                "request.host",
                .malformedRequest,
                .wire,
                page: .unreadable,
                documentation: "The request does not have exactly one host."
            )
        case .requestNoHost:
            Entry("request.no_host", .malformedRequest, .wire, page: .unreadable)
        case .requestRepeatedHost:
            Entry("request.repeated_host", .malformedRequest, .wire, page: .unreadable)
        case .requestHostDiffersFromTarget:
            Entry("request.host_differs_from_target", .malformedRequest, .wire, page: .unreadable)
        case .requestRepeatedField:
            Entry(
                "request.repeated_field",
                .malformedRequest,
                .wire,
                page: .unreadable,
                documentation: "A field that may occur once is repeated."
            )
        case .requestExpectation:
            Entry(
                "request.expectation",
                .malformedRequest,
                .wire,
                status: 417,
                page: .unreadable,
                documentation: "`Expect` has another value than `100-continue`."
            )
        case .pathBadEscape:
            Entry(
                "path.bad_escape",
                .malformedRequest,
                .wire,
                page: .addressNotAccepted,
                documentation: """
                    No app can want the path: a broken escape, text that is not UTF-8, an escaped control character, a \
                    raw backslash, dots with a parameter.
                    """
            )
        case .pathNotUTF8:
            Entry("path.not_utf8", .malformedRequest, .wire, page: .addressNotAccepted)
        case .pathControlCharacter:
            Entry("path.control_character", .malformedRequest, .wire, page: .addressNotAccepted)
        case .pathBackslash:
            Entry("path.backslash", .malformedRequest, .wire, page: .addressNotAccepted)
        case .pathDotsWithParameter:
            Entry("path.dots_with_parameter", .malformedRequest, .wire, page: .addressNotAccepted)
        case .pathAmbiguous:
            Entry(
                "path.ambiguous",
                .malformedRequest,
                .wire,
                page: .addressNotAccepted,
                documentation: """
                    A server could read the path as one of another app, or as one that is not public: by letter case, \
                    a second round of decoding, an escaped slash, or without its `;parameters`. The log names the app. \
                    If its server is known to distinguish these, set `path_spelling: exact` there; see \
                    [compatibility.md](compatibility.md#paths).
                    """
            )
        case .pathParameter:
            Entry("path.parameter", .malformedRequest, .wire, page: .addressNotAccepted)
        case .pathDestination:
            Entry(
                "path.destination",
                .malformedRequest,
                .wire,
                page: .addressNotAccepted,
                documentation: """
                    `Destination` (WebDAV, RFC 4918) leads out of the app, or a server could read it that way: by \
                    `//`, dot segments, a query, a raw character or letter case; or COPY or MOVE have a relative one. \
                    From a `public` path it has to lead to a public one.
                    """
            )
        case .pathEncodedSlash:
            Entry(
                "path.encoded_slash",
                .malformedRequest,
                .wire,
                page: .addressNotAccepted,
                documentation: "The path has `%2F` or `%5C`, and the app has `encoded_slash: reject`."
            )
        case .framingLength:
            Entry(
                "framing.length",
                .malformedRequest,
                .wire,
                page: .unreadable,
                documentation: """
                    The end of the body is not given, or given twice; or a WebSocket handshake has a body.
                    """
            )
        case .framingRepeatedLength:
            Entry("framing.repeated_length", .malformedRequest, .wire, page: .unreadable)
        case .framingLengthAndCoding:
            Entry("framing.length_and_coding", .malformedRequest, .wire, page: .unreadable)
        case .framingCoding:
            Entry("framing.coding", .malformedRequest, .wire, page: .unreadable)
        case .framingRepeatedCoding:
            Entry("framing.repeated_coding", .malformedRequest, .wire, page: .unreadable)
        case .framingCodingInHTTP10:
            Entry("framing.coding_in_http_1_0", .malformedRequest, .wire, page: .unreadable)
        case .framingBodyNotAllowed:
            Entry("framing.body_not_allowed", .malformedRequest, .wire, page: .unreadable)
        case .chunkSize:
            Entry(
                "chunk.size",
                .malformedRequest,
                .wire,
                page: .unreadable,
                documentation: "The chunks of the body do not follow RFC 9112, or consist mostly of framing."
            )
        case .chunkExtension:
            Entry("chunk.extension", .malformedRequest, .wire, page: .unreadable)
        case .chunkNoLineEnd:
            Entry("chunk.no_line_end", .malformedRequest, .wire, page: .unreadable)
        case .chunkOverhead:
            Entry("chunk.overhead", .malformedRequest, .wire, page: .unreadable)
        case .chunkTrailerField:
            Entry("chunk.trailer_field", .malformedRequest, .wire, page: .unreadable)
        case .chunkTrailerTooLarge:
            Entry("chunk.trailer_too_large", .malformedRequest, .wire, page: .unreadable)
        case .chunkTooLarge:
            Entry(
                "chunk.too_large",
                .malformedRequest,
                .wire,
                status: 413,
                page: .unreadable,
                documentation: "The body is larger than its limit."
            )
        case .upstreamUnreachable:
            Entry(
                "upstream.unreachable",
                .upstreamFailed,
                .upstream,
                documentation: "The app does not accept connections at its `upstream`."
            )
        case .upstreamUntrusted:
            Entry(
                "upstream.untrusted",
                .upstreamFailed,
                .upstream,
                page: .appNotVerified,
                documentation: """
                    The TLS handshake with the app failed, or its certificate is not trusted; the log has the reason. \
                    No byte of a request was sent.
                    """
            )
        case .upstreamPinMismatch:
            Entry(
                "upstream.pin_mismatch",
                .upstreamFailed,
                .upstream,
                page: .appNotVerified,
                documentation: """
                    The app's certificate is trusted but has none of the pinned keys; the log names those it has. No \
                    byte of a request was sent.
                    """
            )
        case .upstreamRefusedStream:
            Entry(
                "upstream.refused_stream",
                .upstreamFailed,
                .upstream,
                documentation: "The app rejected the request over HTTP/2, and the retry too."
            )
        case .upstreamClosed:
            Entry(
                "upstream.closed",
                .upstreamFailed,
                .upstream,
                documentation: "The app closed the connection before or during its response."
            )
        case .upstreamClosedInResponse:
            Entry("upstream.cut", .upstreamFailed, .upstream)
        case .upstreamRefused:
            Entry(
                "upstream.refused",
                .upstreamFailed,
                .upstream,
                page: .appNotUnderstood,
                documentation: """
                    The app's response is not valid HTTP; the log has one of the codes two lines below.
                    """
            )
        case .upstreamWebSocket:
            Entry(
                "upstream.websocket",
                .upstreamFailed,
                .upstream,
                page: .appNotUnderstood,
                documentation: """
                    The app responded to a WebSocket handshake with `101`, but not as RFC 6455 demands; the log has \
                    the reason.
                    """
            )
        case .upstreamStartLine:
            Entry(
                "upstream.start_line",
                .upstreamFailed,
                .upstream,
                page: .appNotUnderstood,
                documentation: "In the log only: what is wrong with the response."
            )
        case .upstreamStatus:
            Entry("upstream.status", .upstreamFailed, .upstream, page: .appNotUnderstood)
        case .upstreamLength:
            Entry("upstream.length", .upstreamFailed, .upstream, page: .appNotUnderstood)
        case .upstreamCoding:
            Entry("upstream.coding", .upstreamFailed, .upstream, page: .appNotUnderstood)
        case .upstreamFraming:
            Entry("upstream.framing", .upstreamFailed, .upstream, page: .appNotUnderstood)
        case .upstreamHeadTooLarge:
            Entry("upstream.head_too_large", .upstreamFailed, .upstream, page: .appNotUnderstood)
        case .upstreamField:
            Entry("upstream.field", .upstreamFailed, .upstream, page: .appNotUnderstood)
        case .upstreamUnexpectedInterim:
            Entry("upstream.unexpected_interim", .upstreamFailed, .upstream, page: .appNotUnderstood)
        case .upstreamConnectTimedOut:
            Entry(
                "upstream.connect_timed_out",
                .upstreamTimedOut,
                .upstream,
                documentation: """
                    The app did not accept a connection within 5 seconds, or did not respond within 30.
                    """
            )
        case .upstreamTimedOut:
            Entry("upstream.timed_out", .upstreamTimedOut, .upstream)
        case .upstreamOutOfTime:
            Entry(
                "upstream.out_of_time",
                .upstreamTimedOut,
                .upstream,
                documentation: "A gRPC call took longer than its `grpc-timeout`."
            )
        case .upstreamLoop:
            Entry(
                "upstream.loop",
                .upstreamFailed,
                .upstream,
                status: 508,
                page: .appLeadsBack,
                documentation: """
                    The request came back to the gateway for the third time: the `upstream` of an app leads to the \
                    gateway itself, directly or through a proxy in front of it. `gatehouse check` names the app if it \
                    can. The field `CDN-Loop` of the request counts (RFC 8586).
                    """
            )
        case .upstreamOverflow:
            Entry(
                "upstream.overflow",
                .overloaded,
                .upstream,
                retry: .after(1),
                documentation: "Too many requests wait for a connection to the app."
            )
        case .sessionStoreUnavailable:
            Entry(
                "session.store_unavailable",
                .overloaded,
                .gateway,
                documentation: "The session store does not respond, or is full."
            )
        case .sessionNotConfirmed:
            Entry(
                "session.not_confirmed",
                .overloaded,
                .gateway,
                documentation: """
                    The session is due for a re-check, and the provider has not responded for longer than \
                    `sessions.max_stale`. The session is kept and continues when the provider responds again; see \
                    [sessions.md](sessions.md#re-checks).
                    """
            )
        case .sessionConfirmationNeeded:
            Entry(
                "session.confirmation_needed",
                .signInRequired,
                .gateway,
                page: .confirmationNeeded,
                documentation: """
                    The session is due for a re-check, only a navigation over the provider can confirm it, and the request is \
                    another one: of a script, which gets the URL of that navigation as `sign_in`, or a form. See \
                    [sessions.md](sessions.md#re-checks).
                    """
            )
        case .sessionStoreFull:
            Entry("session.store_full", .overloaded, .gateway, page: .operatorsNeeded)
        case .sessionStoreBusy:
            Entry(
                "session.store_busy",
                .overloaded,
                .gateway,
                documentation: "A call of the session store waited two seconds for earlier calls."
            )
        case .sessionStoreFileFailure:
            Entry(
                "session.store_fault",
                .internalError,
                .gateway,
                shown: "log only",
                documentation: """
                    The file of the session store was deleted, replaced, truncated or damaged while the gateway uses \
                    it, or its Redis is a replica or removes sessions by itself; see \
                    [running.md](running.md#the-session-store) and [sessions.md](sessions.md#redis).
                    """
            )
        case .sessionRevocationPending:
            Entry(
                "session.revocation_pending",
                .internalError,
                .gateway,
                shown: "log only",
                documentation: """
                    A sign-out is in effect, but is not written to the session store yet; see \
                    [running.md](running.md#the-session-store).
                    """
            )
        case .sessionStoreDamaged:
            Entry(
                "session.store_damaged",
                .overloaded,
                .gateway,
                page: .operatorsNeeded,
                documentation:
                    "The database, or a value in the store, is damaged, or was written by a later version of the gateway."
            )
        case .sessionStoreNewer:
            Entry("session.store_newer", .overloaded, .gateway, page: .operatorsNeeded)
        case .sessionNotSealed:
            Entry("session.not_sealed", .internalError, .gateway, documentation: "A session could not be sealed.")
        case .sessionNotKept:
            Entry(
                "session.not_kept",
                .malformedRequest,
                .gateway,
                page: .sessionsNotKept,
                documentation: """
                    With `sessions.store: cookie:` the gateway keeps no sessions, so it cannot list them or end those of \
                    other browsers: sign-out everywhere, back-channel logout, `gatehouse sessions` and `gatehouse users`. \
                    See [sessions.md](sessions.md#sessions-in-cookies).
                    """
            )
        case .assertionNotSigned:
            Entry(
                "assertion.not_signed",
                .internalError,
                .gateway,
                documentation: "The assertion for the app could not be signed; the request was not forwarded."
            )
        case .identityTooLarge:
            Entry(
                "identity.too_large",
                .internalError,
                .gateway,
                documentation:
                    "The identity headers of the user are longer than `identity.max_bytes` of the app; `groups: named` leaves groups out that the app has no rule for."
            )
        case .assertionNoKey:
            Entry(
                "assertion.no_key",
                .internalError,
                .gateway,
                shown: "start",
                documentation: "The folder of signing keys cannot be used."
            )
        case .assertionBadKeyFile:
            Entry("assertion.bad_key_file", .internalError, .gateway, shown: "start")
        case .assertionTooManyKeys:
            Entry("assertion.too_many_keys", .internalError, .gateway, shown: "start")
        case .fileUnusable:
            Entry(
                "file.unusable",
                .internalError,
                .gateway,
                shown: "start",
                documentation: "A file of the gateway cannot be read or written, or other users can read it."
            )
        case .fileTooOpen:
            Entry("file.too_open", .internalError, .gateway, shown: "start")
        case .gatewayConfiguration:
            Entry(
                "gateway.configuration",
                .internalError,
                .gateway,
                shown: "start",
                documentation: "The configuration has errors; they are printed above it."
            )
        case .gatewaySecret:
            Entry(
                "gateway.secret",
                .internalError,
                .gateway,
                shown: "start",
                documentation: "The gateway's own secret in the `state` folder is too short."
            )
        case .gatewayTracing:
            Entry(
                "gateway.tracing",
                .internalError,
                .gateway,
                shown: "start",
                documentation: """
                    A variable `OTEL_*` of the environment has a value that tracing does not support; the message names both: \
                    [tracing.md](tracing.md).
                    """
            )
        case .gatewayEventLoops:
            Entry(
                "gateway.event_loops",
                .internalError,
                .gateway,
                shown: "start",
                documentation: """
                    The process may not open the descriptors that its event loops need; raise `LimitNOFILE`.
                    """
            )
        case .gatewayProcess:
            Entry(
                "gateway.process",
                .internalError,
                .gateway,
                shown: "start",
                documentation: """
                    With `serve --listen-fds` the gateway runs as a child process of the one that systemd has started, which \
                    could not be started: there is no descriptor, memory or process left.
                    """
            )
        case .listenerBind:
            Entry(
                "listener.bind",
                .internalError,
                .gateway,
                shown: "start",
                documentation: """
                    The gateway cannot listen on an address: it is in use, or the port is below 1024 and the process \
                    lacks the capability.
                    """
            )
        case .listenerOperations:
            Entry("listener.operations", .internalError, .gateway, shown: "start")
        case .listenerNoSockets:
            Entry(
                "listener.no_sockets",
                .internalError,
                .gateway,
                shown: "start",
                documentation: """
                    `serve --listen-fds` was given, but no sockets were passed: `LISTEN_FDS` and `LISTEN_PID` are \
                    missing or do not match.
                    """
            )
        case .listenerNoSocket:
            Entry(
                "listener.no_socket",
                .internalError,
                .gateway,
                shown: "start",
                documentation: """
                    A listener of the file has no socket among those that were passed, a socket has no listener in the \
                    file, or a descriptor is not a socket; compare `ListenStream=` with `listeners` and `operations`.
                    """
            )
        case .listenerUnwantedSocket:
            Entry("listener.unwanted_socket", .internalError, .gateway, shown: "start")
        case .listenerInherited:
            Entry("listener.inherited", .internalError, .gateway, shown: "start")
        case .operationsSocket:
            Entry(
                "operations.socket",
                .internalError,
                .gateway,
                shown: "start, log",
                documentation: """
                    The gateway cannot listen on the Unix socket of the operations API: another process listens there, \
                    the path is not a socket, or the folder is not writable. Only a socket that `operations_socket` \
                    names prevents the start.
                    """
            )
        case .operationsUnreachable:
            Entry(
                "operations.unreachable",
                .internalError,
                .gateway,
                shown: "commands",
                documentation: """
                    A command cannot reach the running gateway through its Unix socket: the gateway is not running, \
                    belongs to another user, or has another state folder; name the socket with `--socket`.
                    """
            )
        case .operationsRejected:
            Entry(
                "operations.rejected",
                .internalError,
                .gateway,
                shown: "commands",
                documentation: "The running gateway rejected a command or could not carry it out."
            )
        case .certificateExpired:
            Entry(
                "certificate.expired",
                .internalError,
                .gateway,
                shown: "log, `/status`, metric",
                documentation: """
                    Clients reject a listener's own certificate, or soon will; see \
                    [running.md](running.md#the-gateways-own-certificates).
                    """
            )
        case .certificateNotYetValid:
            Entry("certificate.not_yet_valid", .internalError, .gateway, shown: "log, `/status`, metric")
        case .certificateExpiring:
            Entry("certificate.expiring", .internalError, .gateway, shown: "log, `/status`, metric")
        case .certificateWrongHost:
            Entry("certificate.wrong_host", .internalError, .gateway, shown: "log, `/status`, metric")
        case .certificateWeak:
            Entry("certificate.weak", .internalError, .gateway, shown: "log, `/status`, metric")
        case .certificateWrongPurpose:
            Entry("certificate.wrong_purpose", .internalError, .gateway, shown: "log, `/status`, metric")
        case .revocationListExpired:
            Entry(
                "revocation_list.expired",
                .internalError,
                .gateway,
                shown: "log, `/status`, metric",
                documentation: """
                    A revocation list of `crl_files` admits no certificate of its authority any more, or soon will not; see \
                    [client-certificates.md](client-certificates.md#watching-revocation-lists).
                    """
            )
        case .revocationListExpiring:
            Entry("revocation_list.expiring", .internalError, .gateway, shown: "log, `/status`, metric")
        case .tlsCertificateUnreadable:
            Entry(
                "tls.certificate_unreadable",
                .internalError,
                .gateway,
                shown: "start",
                documentation: "A certificate or its key cannot be used."
            )
        case .tlsKeyUnreadable:
            Entry("tls.key_unreadable", .internalError, .gateway, shown: "start")
        case .tlsKeyMismatch:
            Entry("tls.key_mismatch", .internalError, .gateway, shown: "start")
        case .clientCertificateFiles:
            Entry(
                "client_certificate.files",
                .internalError,
                .gateway,
                shown: "start",
                documentation: "A file of `client_certificates` cannot be used: an authority, or a revocation list."
            )
        case .transportNoResources:
            Entry(
                "transport.no_resources",
                .internalError,
                .gateway,
                shown: "start",
                documentation: """
                    Provider calls cannot be set up; the second code names what the installed libcurl lacks.
                    """
            )
        case .transportUnsupportedLibrary:
            Entry("transport.unsupported_library", .internalError, .gateway, shown: "start")
        case .profilePayload:
            Entry(
                "profile.payload",
                .malformedRequest,
                .gateway,
                shown: "command",
                documentation: """
                    `gatehouse profile` got a file that is not a saved response of a provider; the message describes \
                    the format.
                    """
            )
        case .policyQuestion:
            Entry(
                "policy.question",
                .malformedRequest,
                .gateway,
                shown: "command",
                documentation: """
                    `gatehouse policy` was asked about an app, a user or a path that does not exist, or got a file that is \
                    not a profile.
                    """
            )
        case .policyLoss:
            Entry(
                "policy.loss",
                .internalError,
                .gateway,
                shown: "reload",
                documentation: """
                    `serve --guard`: the new rules take access from too many users, or they could not be compared. See \
                    [policy.md](policy.md#refuse-a-reload).
                    """
            )
        case .demoProvider:
            Entry(
                "demo.provider",
                .malformedRequest,
                .demo,
                shown: "command",
                documentation: "`gatehouse demo` has no such provider or quirk."
            )
        case .demoQuirk:
            Entry("demo.quirk", .malformedRequest, .demo, shown: "command")
        case .demoPort:
            Entry(
                "demo.port",
                .internalError,
                .demo,
                shown: "start",
                documentation: "`gatehouse demo` cannot use a port."
            )
        case .demoFetch:
            Entry(
                "demo.fetch",
                .upstreamFailed,
                .demo,
                shown: "log only",
                documentation: "The sample app of `gatehouse demo` cannot reach the gateway."
            )
        case .demoFetchTimedOut:
            Entry("demo.fetch", .upstreamTimedOut, .demo, shown: "log only")
        }
    }

    /// The stable name in responses, logs and metrics.
    package var code: String { self.entry.code }

    private static let untrustedToken =
        "the provider sent a token that cannot be trusted; docs/errors.md explains {code}"
}
