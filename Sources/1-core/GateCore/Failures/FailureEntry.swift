// SPDX-License-Identifier: Apache-2.0

extension Failure {
    /// One row of the failure catalogue.
    package struct Entry: Sendable {
        /// The stable name in responses, logs and metrics.
        package let code: String
        /// Which side has to act.
        package let kind: Kind
        /// Where `docs/errors.md` explains it.
        package let section: Section
        /// The status of the response.
        package let status: Int
        /// The value of `Retry-After`; nil if the response has none.
        package let retry: Retry?
        /// What the error page shows.
        package let page: Page
        /// Where the failure shows up instead of in a response, such as `start` or `log only`; nil for a response.
        package let shown: String?
        /// What the operator can change, with placeholders in braces; see ``advice(_:)``.
        package let advice: String?
        /// The text of the row in `docs/errors.md`; nil if the code shares the row of the case before it.
        package let documentation: String?

        /// The advice with its placeholders filled in: `section` and `callback` for example, without braces.
        package func advice(_ values: [String: String]) -> String? {
            guard var text = self.advice else { return nil }
            for (name, value) in values { text = text.replacing("{\(name)}", with: value) }
            return text.replacing("{code}", with: self.code)
        }
    }

    /// A section of `docs/errors.md`, in the order of the page.
    package enum Section: Sendable, CaseIterable {
        /// Failures of a sign-in that the user or the policy causes.
        case signIn
        /// Failures while a session moves from the gateway's host to an app's host.
        case sessionTransfer
        /// Logouts that a provider requests and that are not carried out.
        case logout
        /// ID tokens that break a rule.
        case idToken
        /// Failures of provider calls.
        case provider
        /// Rejected requests.
        case request
        /// Rejected messages: what is not the HTTP that a standard describes, or is ambiguous.
        case wire
        /// Failures of apps.
        case upstream
        /// Failures of the gateway and of its start.
        case gateway
        /// Failures of `gatehouse demo`.
        case demo
    }

    /// The value of `Retry-After`, in seconds.
    package enum Retry: Sendable, Equatable {
        /// This many.
        case after(Int)
        /// A random number in this range, so that clients do not come back at the same time.
        case within(ClosedRange<Int>)
    }

    /// An error page; its texts are those of ``name`` in each language.
    package struct Page: Sendable {
        /// Its name, such as `access_denied`.
        package let name: String
        /// What the page offers, the most likely step first; steps that the request does not permit are left out.
        package let steps: [Step]
        /// Whether the page shows which user is signed in.
        package let namesUser: Bool

        init(_ name: String, _ steps: [Step] = [], namesUser: Bool = false) {
            self.name = name
            self.steps = steps
            self.namesUser = namesUser
        }
    }

    /// Something that an error page offers.
    package enum Step: Sendable, Equatable {
        /// Sign in and continue to the requested URL.
        case signIn
        /// The same, after a sign-in that failed or a session that does not suffice.
        case signInAgain
        /// The same; the provider is asked to offer another account.
        case otherAccount
        /// The page with the button that signs out.
        case signOut
        /// The apps that the user may open.
        case apps
        /// Open the requested URL again.
        case retry
    }
}

extension Failure.Kind {
    /// The status of a failure whose row has none.
    var status: Int {
        switch self {
        case .malformedRequest: 400
        case .signInRequired: 401
        case .forbidden: 403
        case .noSuchRoute: 404
        case .methodNotAllowed: 405
        case .tooLarge: 413
        case .tooMany: 429
        case .providerFailed, .upstreamFailed: 502
        case .upstreamTimedOut: 504
        case .overloaded: 503
        case .internalError: 500
        }
    }

    /// The `Retry-After` of a failure whose row has none.
    var retry: Failure.Retry? {
        switch self {
        case .overloaded: .after(2)
        case .tooMany: .after(10)
        case .malformedRequest, .signInRequired, .forbidden, .noSuchRoute, .methodNotAllowed, .tooLarge,
            .providerFailed, .upstreamFailed, .upstreamTimedOut, .internalError:
            nil
        }
    }
}
