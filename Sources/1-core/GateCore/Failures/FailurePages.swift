// SPDX-License-Identifier: Apache-2.0

extension Failure.Kind {
    /// The page of a failure whose row has none.
    var page: Failure.Page {
        switch self {
        case .malformedRequest: .badRequest
        case .signInRequired: .signInRequired
        case .forbidden: .notAllowed
        case .noSuchRoute: .appNotFound
        case .methodNotAllowed: .wrongMethod
        case .tooLarge: .tooLarge
        case .tooMany: .tooMany
        case .providerFailed: .providerFailed
        case .upstreamFailed: .appFailed
        case .upstreamTimedOut: .appTimedOut
        case .overloaded: .overloaded
        case .internalError: .internalError
        }
    }
}

extension Failure.Page {
    static let badRequest = Self("bad_request")
    static let signInRequired = Self("please_sign_in", [.signIn])
    static let notAllowed = Self("not_allowed")
    static let appNotFound = Self("app_not_found", [.apps])
    static let wrongMethod = Self("wrong_method")
    static let tooLarge = Self("too_large")
    static let tooMany = Self("too_many", [.retry])
    static let providerFailed = Self("provider_failed", [.signInAgain])
    static let providerNotVerified = Self("provider_not_verified", [.signInAgain])
    static let providerMisconfigured = Self("provider_misconfigured", [.signInAgain])
    static let appNotVerified = Self("app_not_verified", [.apps])
    static let appNotUnderstood = Self("app_not_understood", [.retry, .apps])
    static let appLeadsBack = Self("app_leads_back", [.apps])
    static let operatorsNeeded = Self("operators_needed")
    static let appFailed = Self("app_failed", [.retry, .apps])
    static let appTimedOut = Self("app_timed_out", [.retry, .apps])
    static let maintenance = Self("maintenance", [.retry, .apps])
    static let overloaded = Self("overloaded", [.retry])
    static let internalError = Self("internal_error", [.retry])

    // Sign-in

    static let signInNotCompleted = Self("sign_in_not_completed", [.signInAgain])
    static let callbackNotUnderstood = Self("callback_not_understood", [.signInAgain])
    static let signInStopped = Self("sign_in_stopped", [.signInAgain])
    static let authenticationStale = Self("authentication_stale", [.signInAgain])
    static let signedOutMeanwhile = Self("signed_out_meanwhile", [.signInAgain])
    static let otherOrganization = Self("other_organization", [.otherAccount])
    static let credentialsWrong = Self("credentials_wrong", [.signInAgain])
    static let accountTooLarge = Self("account_too_large", [.otherAccount])
    static let sessionsNotKept = Self("sessions_not_kept", [.signOut])
    static let signInExpired = Self("sign_in_expired", [.signInAgain])
    static let appNotKnown = Self("app_not_known")
    static let transferNotCompleted = Self("transfer_not_completed", [.retry])
    static let returnPathTooLong = Self("return_path_too_long", [.retry])
    static let returnPathLost = Self("return_path_lost", [.retry])
    static let formNotSent = Self("form_not_sent", [.signIn])
    static let confirmationNeeded = Self("confirmation_needed", [.apps])
    static let notSignedIn = Self("not_signed_in", [.otherAccount])
    static let linkOver = Self("link_over", [.signInAgain])
    static let accountNotConnected = Self("account_not_connected", [.apps], namesUser: true)
    static let passkeyNotAccepted = Self("passkey_not_accepted", [.signInAgain])
    static let passkeyCopied = Self("passkey_copied", [.signInAgain])
    static let passkeyNotAdded = Self("passkey_not_added", [.apps])
    static let providerInteraction = Self("provider_interaction", [.signInAgain])
    static let accessDenied = Self("access_denied", [.otherAccount, .signOut, .apps], namesUser: true)
    static let accessUndecided = Self("access_undecided", [.signInAgain, .signOut, .apps], namesUser: true)
    static let providerNotFound = Self("provider_not_found", [.signIn])

    // Requests

    static let endpointNotFound = Self("endpoint_not_found", [.apps])
    static let addressNotAccepted = Self("address_not_accepted", [.apps])
    static let misdirected = Self("misdirected")
    static let certificateNeeded = Self("certificate_needed", [.retry])
    static let certificateRejected = Self("certificate_rejected", [.retry])
    static let notNavigation = Self("not_navigation", [.signInAgain])
    static let crossSite = Self("cross_site")

    // Messages

    static let unreadable = Self("unreadable")
    static let headTooLarge = Self("head_too_large")
    static let targetTooLong = Self("target_too_long")
    static let tooSlow = Self("too_slow")
    static let methodNotAccepted = Self("method_not_accepted")
}
