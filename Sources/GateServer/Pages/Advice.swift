// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// What a person can do about a failure, in plain words.
struct Advice {
    let title: String
    let text: String
    /// Where to go from here, on the gateway's own origin.
    let link: (path: String, text: String)?

    init(for failure: Failure) {
        let again = (path: "/oauth2/sign_in", text: "Sign in again")
        switch failure.kind {
        case .malformedRequest where failure.code.hasPrefix("openid.") || failure.code.hasPrefix("handover."):
            self.init(
                "This sign-in cannot be completed",
                "It took too long, was already used, or was begun in another window. Nothing is broken: start once more.",
                again
            )
        case .malformedRequest:
            self.init("The request was not understood", "The address or the form that led here is not right.", nil)
        case .signInRequired:
            self.init("Please sign in", "This page is for people who are signed in.", again)
        case .forbidden where failure.code == "request.cross_site":
            self.init("The request was stopped", "Another site sent your browser here to change something.", nil)
        case .forbidden where failure.code == "request.not_navigation":
            self.init(
                "This is no place to sign in",
                "A sign-in begins in a window of its own, not inside another page.",
                again
            )
        case .forbidden where failure.code == "provider.interaction_required":
            self.init(
                "The sign-in service has to ask you something",
                "Open it and sign in there, or agree to what it asks, then start once more.",
                again
            )
        case .forbidden where failure.code.hasPrefix("provider.") || failure.code.hasPrefix("openid."):
            self.init(
                "You were not signed in",
                "The sign-in was cancelled, or this account may not be used here.",
                (path: "/oauth2/sign_in", text: "Try another account")
            )
        case .forbidden where failure.code.hasPrefix("policy.") && failure.code.hasSuffix("_unknown"):
            self.init(
                "You may not open this app",
                "The sign-in service did not tell enough about your account to let you in. Signing in again may help.",
                again
            )
        case .forbidden:
            self.init(
                "You may not open this app",
                "You are signed in, but the people who run this app have not given your account access.",
                (path: "/oauth2/sign_in", text: "Sign in with another account")
            )
        case .noSuchRoute: self.init("There is nothing here", "No app answers at this address.", nil)
        case .methodNotAllowed: self.init("That does not work here", "This address takes other requests.", nil)
        case .tooLarge: self.init("That is too large", "The request has more bytes than are accepted here.", nil)
        case .tooMany: self.init("Too many requests", "Please wait a moment and try again.", nil)
        case .providerFailed where failure.comesOfPins:
            self.init(
                "This way to sign in is not available right now",
                "The gateway could not make sure that it speaks with the real sign-in service, so it sent nothing there. "
                    + "Those who run it have been told. Choose another way to sign in, or try again later.",
                again
            )
        case .providerFailed:
            self.init(
                "The sign-in service does not answer properly",
                "This is not your fault. Try again in a minute, or choose another way to sign in.",
                again
            )
        case .upstreamFailed:
            self.init("The app does not answer", "The gateway works, the app behind it does not.", nil)
        case .upstreamTimedOut:
            self.init("The app takes too long", "The gateway works, the app behind it is slow.", nil)
        case .overloaded where failure.code == "route.maintenance":
            self.init("This app is being worked on", "It will be back; please try again in a few minutes.", nil)
        case .overloaded: self.init("Not available right now", "Please try again in a few seconds.", nil)
        case .internalFault: self.init("Something went wrong", "The fault is ours. It has been noted in the log.", nil)
        }
    }

    private init(_ title: String, _ text: String, _ link: (path: String, text: String)?) {
        self.title = title
        self.text = text
        self.link = link
    }
}
