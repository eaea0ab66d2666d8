// SPDX-License-Identifier: Apache-2.0

extension Failure {
    /// Every failure of the gateway, by section; its row of the catalogue has the code, the status and all texts.
    ///
    /// A new failure is a case here, a row at the same place of the table of its section, and its texts below that:
    /// `docs/errors.md` is generated from the tables in this order. Codes are stable; a released one never changes.
    package enum Reason: Int, Sendable, Hashable, CaseIterable {
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
    /// The entries of all failures, each at the number of its case.
    private static let entries: [Failure.Entry] = {
        let rows = FailureTable.all.flatMap(\.entries)
        precondition(rows.map(\.reason) == Self.allCases, "each failure has one row, in the order of the cases")
        return rows.map(\.entry)
    }()

    package var entry: Failure.Entry { Self.entries[self.rawValue] }

    /// The stable name in responses, logs and metrics.
    package var code: String { self.entry.code }
}
