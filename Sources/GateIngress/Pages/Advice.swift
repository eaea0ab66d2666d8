// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateWire

/// What a user can do about a failure, in plain words.
struct Advice {
    /// Something that a page offers.
    enum Step {
        /// Sign in and then go where the user was going.
        case signIn
        /// The same, after a sign-in that failed or a session that does not suffice.
        case signInAgain
        /// The same, with the provider asked to offer another account.
        case otherAccount
        /// The page with the button that signs out.
        case signOut
        /// The apps that the user may open.
        case apps
        /// Go where the user was going once more.
        case retry
    }

    let title: String
    let text: String
    /// What the page offers, the most likely first.
    let steps: [Step]

    /// Advice about a failure of a request.
    ///
    /// - Parameters:
    ///   - failure: What went wrong.
    ///   - context: What is known of the request.
    init(for failure: Failure, in context: PageContext = PageContext()) {
        switch failure.kind {
        case .malformedRequest: self = Advice.malformed(failure)
        case .signInRequired: self.init("Please sign in", "This page is for signed-in users.", [.signIn])
        case .forbidden: self = Advice.forbidden(failure, context)
        case .noSuchRoute: self = Advice.missing(failure, context)
        case .methodNotAllowed:
            self.init("That does not work here", "This address does not accept this kind of request.")
        case .tooLarge:
            self.init("That is too large", "The request has more bytes than this app accepts. Send less at a time.")
        case .tooMany: self.init("Too many requests", "Please wait a minute and try again.", [.retry])
        case .providerFailed where failure.comesOfPins:
            self.init(
                "This way to sign in is not available right now",
                "The gateway could not verify the sign-in service, so it sent nothing there. The operators have been "
                    + "notified. Choose another way to sign in, or try again later.",
                [.signInAgain]
            )
        case .providerFailed:
            self.init(
                "The sign-in service does not respond properly",
                "This is not your fault. Try again in a minute, or choose another way to sign in.",
                [.signInAgain]
            )
        case .upstreamFailed:
            self.init("The app does not respond", "You are not the cause: the app is down. Try again in a minute.")
        case .upstreamTimedOut:
            self.init("The app takes too long", "The app did not respond in time. Try again in a minute.")
        case .overloaded where failure.code == "route.maintenance":
            self.init("This app is being worked on", "It will be back; please try again in a few minutes.")
        case .overloaded: self.init("Not available right now", "Please try again in a few seconds.", [.retry])
        case .internalError:
            self.init("Something went wrong", "The fault is ours, and the details are in the log.")
        }
    }

    /// Advice about bytes that are no request.
    init(for refusal: WireRejection) {
        switch refusal.status {
        case 408: self.init("The request took too long", "The connection was too slow. Please try again.")
        case 414:
            self.init("The address is too long", "It has more characters than the gateway accepts. Shorten the link.")
        case 431:
            self.init(
                "Your browser sent too much",
                "Most likely it has too many cookies for this site. Delete the cookies of this site and try again."
            )
        case 405, 501: self.init("That does not work here", "The gateway does not accept this kind of request.")
        default:
            self.init(
                "The request was not understood",
                "Your browser sent something that the gateway does not accept. Check the address, or go back and try "
                    + "again."
            )
        }
    }

    private init(_ title: String, _ text: String, _ steps: [Step] = []) {
        self.title = title
        self.text = text
        self.steps = steps
    }
}

extension Advice {
    private static func malformed(_ failure: Failure) -> Advice {
        switch failure.code {
        case "signin.return_too_long":
            Advice(
                "The link was too long",
                "You are signed in, but the address that you came from was too long to be kept meanwhile. Open your "
                    + "link again, or begin at the front page of the app.",
                [.retry]
            )
        case "signin.return_lost":
            Advice(
                "The link is not known any more",
                "The address that you came from was not kept long enough. Open your link again.",
                [.apps]
            )
        case let code where code.hasPrefix("openid."):
            Advice(
                "This sign-in cannot be completed",
                "It took too long, was already used, or was started in another window or browser. Nothing is broken: "
                    + "sign in again.",
                [.signInAgain]
            )
        case let code where code.hasPrefix("handover."):
            Advice(
                "This sign-in cannot be completed",
                "It took too long, was already used, or was started in another browser. Nothing is broken: try again.",
                [.retry]
            )
        default:
            Advice(
                "The request was not understood",
                "The address or the form that led here is not right. Go back and try again."
            )
        }
    }

    private static func forbidden(_ failure: Failure, _ context: PageContext) -> Advice {
        let app = context.app ?? "this app"
        let isSignedIn = context.user?.isSignedIn ?? true
        switch failure.code {
        case "request.cross_site":
            return Advice(
                "The request was stopped",
                "Another site sent your browser here to change something. If you meant to, do it in the app itself."
            )
        case "request.not_navigation":
            return Advice(
                "You cannot sign in here",
                "A sign-in begins in a window of its own, not inside another page.",
                [.signInAgain]
            )
        case "provider.interaction_required":
            return Advice(
                "The sign-in service has to ask you something",
                "Open it and sign in there, or agree to what it asks, then start once more.",
                [.signInAgain]
            )
        case let code where code.hasPrefix("provider.") || code.hasPrefix("openid."):
            return Advice(
                "You are not signed in",
                "The sign-in was cancelled, or this account may not be used here.",
                [.otherAccount]
            )
        case let code where code.hasPrefix("policy.") && code.hasSuffix("_unknown"):
            return Advice(
                "You may not open \(app)",
                "The sign-in service did not provide enough about your account to decide. Signing in again may help.",
                isSignedIn ? [.signInAgain, .signOut, .apps] : [.signInAgain]
            )
        case let code where code.hasPrefix("policy."):
            return Advice(
                "You may not open \(app)",
                "This account has no access. If you have another account, sign in with that one. Otherwise ask the people "
                    + "who run \(app) for access.",
                isSignedIn ? [.otherAccount, .signOut, .apps] : [.otherAccount]
            )
        default: return Advice("The request was stopped", "The gateway does not allow this.")
        }
    }

    private static func missing(_ failure: Failure, _ context: PageContext) -> Advice {
        let steps: [Step] = context.isOurHost ? [.apps] : []
        switch failure.code {
        case "provider.none":
            return Advice("Unknown way to sign in", "The gateway has no sign-in service of this name.", [.signIn])
        case "endpoint.none":
            return Advice("Page not found", "The gateway has no page at this address.", steps)
        case "request.misdirected":
            return Advice(
                "Wrong connection",
                "Your browser used a connection that is for another site. Reload the page."
            )
        default:
            return Advice("Page not found", "No app is configured for this URL. Check the address.", steps)
        }
    }
}
