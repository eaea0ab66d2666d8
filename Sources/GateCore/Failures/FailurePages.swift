// SPDX-License-Identifier: Apache-2.0

extension Failure.Kind {
    /// The page of a failure whose entry has none.
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
    static let badRequest = Self(
        "bad_request",
        "The request was not understood",
        "The address or the form that led here is not right. Go back and try again."
    )
    static let signInRequired = Self(
        "please_sign_in",
        "Please sign in",
        "This page is for signed-in users.",
        [.signIn]
    )
    static let notAllowed = Self(
        "not_allowed",
        "The request was stopped",
        "The gateway does not allow this."
    )
    static let appNotFound = Self(
        "app_not_found",
        "Page not found",
        "No app is configured for this URL. Check the address.",
        [.apps]
    )
    static let wrongMethod = Self(
        "wrong_method",
        "That does not work here",
        "This address does not accept this kind of request."
    )
    static let tooLarge = Self(
        "too_large",
        "That is too large",
        "The request has more bytes than this app accepts. Send less at a time."
    )
    static let tooMany = Self(
        "too_many",
        "Too many requests",
        "Please wait a minute and try again.",
        [.retry]
    )
    static let providerFailed = Self(
        "provider_failed",
        "The sign-in service does not respond properly",
        "You are not the cause. Try again in a minute, or choose another way to sign in.",
        [.signInAgain]
    )
    static let providerNotVerified = Self(
        "provider_not_verified",
        "This way to sign in is not available right now",
        """
        The gateway could not verify the sign-in service, so it sent nothing there. The operators have been notified. \
        Choose another way to sign in, or try again later.
        """,
        [.signInAgain]
    )
    static let appFailed = Self(
        "app_failed",
        "The app does not respond",
        "You are not the cause: the app is down. Try again in a minute.",
        [.retry, .apps]
    )
    static let appTimedOut = Self(
        "app_timed_out",
        "The app takes too long",
        "The app did not respond in time. Try again in a minute.",
        [.retry, .apps]
    )
    static let maintenance = Self(
        "maintenance",
        "This app is being worked on",
        "It will be back; please try again in a few minutes.",
        [.retry, .apps]
    )
    static let overloaded = Self(
        "overloaded",
        "Not available right now",
        "Please try again in a few seconds.",
        [.retry]
    )
    static let internalError = Self(
        "internal_error",
        "Something went wrong",
        "The gateway failed, and the details are in its log.",
        [.retry]
    )

    // Sign-in

    static let signInNotCompleted = Self(
        "sign_in_not_completed",
        "This sign-in cannot be completed",
        """
        It took too long, was already used, or was started in another window or browser. Nothing is broken: sign in \
        again.
        """,
        [.signInAgain]
    )
    static let accountTooLarge = Self(
        "account_too_large",
        "Your account has too much data",
        """
        The sign-in has worked, but what is known of your account, usually its groups and roles, does not fit into the \
        cookies of your browser. The operator of this gateway has to change its settings.
        """,
        [.otherAccount]
    )
    static let sessionsNotKept = Self(
        "sessions_not_kept",
        "Not possible here",
        "This gateway keeps no list of sessions, so it cannot end those of other browsers. Sign out in each browser.",
        [.signOut]
    )
    static let signInExpired = Self(
        "sign_in_expired",
        "This sign-in took too long",
        "A sign-in has to be completed within ten minutes. Nothing is broken: sign in again.",
        [.signInAgain]
    )
    static let appNotKnown = Self(
        "app_not_known",
        "This app cannot sign you in",
        "The app that sent you here is not set up for this sign-in. Its developer has to correct that."
    )
    static let transferNotCompleted = Self(
        "transfer_not_completed",
        "This sign-in cannot be completed",
        "It took too long, was already used, or was started in another browser. Nothing is broken: try again.",
        [.retry]
    )
    static let returnPathTooLong = Self(
        "return_path_too_long",
        "The link was too long",
        """
        You are signed in, but the address that you came from was too long to be kept meanwhile. Open your link again, \
        or begin at the front page of the app.
        """,
        [.retry]
    )
    static let returnPathLost = Self(
        "return_path_lost",
        "The link is not known any more",
        "The address that you came from was not kept long enough. Open your link again.",
        [.apps]
    )
    static let notSignedIn = Self(
        "not_signed_in",
        "You are not signed in",
        "The sign-in was cancelled, or this account may not be used here.",
        [.otherAccount]
    )
    static let linkOver = Self(
        "link_over",
        "This link is not valid any more",
        "It was used before, or it has expired. Ask the administrator for another one.",
        [.signInAgain]
    )
    static let providerInteraction = Self(
        "provider_interaction",
        "The sign-in service has to ask you something",
        "Open it and sign in there, or agree to what it asks, then start once more.",
        [.signInAgain]
    )
    static let accessDenied = Self(
        "access_denied",
        "You may not open {app}",
        """
        This account has no access. If you have another account, sign in with that one. Otherwise ask the operators of \
        {app} for access.
        """,
        [.otherAccount, .signOut, .apps],
        namesUser: true
    )
    static let accessUndecided = Self(
        "access_undecided",
        "You may not open {app}",
        "The sign-in service did not provide enough about your account to decide. Signing in again may help.",
        [.signInAgain, .signOut, .apps],
        namesUser: true
    )
    static let providerNotFound = Self(
        "provider_not_found",
        "Unknown way to sign in",
        "The gateway has no sign-in service of this name.",
        [.signIn]
    )

    // Requests

    static let endpointNotFound = Self(
        "endpoint_not_found",
        "Page not found",
        "The gateway has no page at this address.",
        [.apps]
    )
    static let misdirected = Self(
        "misdirected",
        "Wrong connection",
        "Your browser used a connection that is for another site. Reload the page."
    )
    static let notNavigation = Self(
        "not_navigation",
        "You cannot sign in here",
        "A sign-in begins in a window of its own, not inside another page.",
        [.signInAgain]
    )
    static let crossSite = Self(
        "cross_site",
        "The request was stopped",
        "Another site sent your browser here to change something. If you meant to, do it in the app itself."
    )

    // Messages

    static let unreadable = Self(
        "unreadable",
        "The request was not understood",
        """
        Your browser sent something that the gateway does not accept. Check the address, or go back and try again.
        """
    )
    static let headTooLarge = Self(
        "head_too_large",
        "Your browser sent too much",
        "Most likely it has too many cookies for this site. Delete the cookies of this site and try again."
    )
    static let targetTooLong = Self(
        "target_too_long",
        "The address is too long",
        "It has more characters than the gateway accepts. Shorten the link."
    )
    static let tooSlow = Self(
        "too_slow",
        "The request took too long",
        "The connection was too slow. Please try again."
    )
    static let methodNotAccepted = Self(
        "method_not_accepted",
        "That does not work here",
        "The gateway does not accept this kind of request."
    )
}
