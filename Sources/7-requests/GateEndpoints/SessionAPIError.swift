// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateIssuer
internal import GatePages

/// An error of the session API, with what the app does about it.
struct SessionAPIError: Error {
    /// What the app does.
    enum Recovery: String {
        /// Sends another request: it has a mistake.
        case correctRequest = "correct_request"
        /// Has the user sign in.
        case signIn = "sign_in"
        /// Has the user enter a code, and sends the same request with it.
        case enterCode = "enter_code"
        /// Sends the same request later.
        case retryLater = "retry_later"
    }

    let status: Int
    let code: String
    let message: String
    let recovery: Recovery
    /// What is logged.
    let failure: Failure
    /// What the log line has of the request.
    var context = PageContext()
    /// After how many seconds the app may send the request again; nil where time changes nothing.
    private(set) var retryAfter: Int64?

    /// An error; `failure` is what is logged unless that is the message.
    init(_ status: Int, _ code: String, _ message: String, _ recovery: Recovery, because failure: Failure? = nil) {
        (self.status, self.code, self.message, self.recovery) = (status, code, message, recovery)
        self.failure = failure ?? Failure(.clientRejected, "\(code): \(message)")
        if recovery == .retryLater, status != 500 {
            self.retryAfter = failure?.retryAfter.map { max(1, $0.wholeSeconds + 1) } ?? 2
        }
    }

    /// An error of the protocol below it.
    init(_ error: OAuthError, because failure: Failure? = nil) {
        switch error.code {
        case .invalidGrant: self.init(401, "session_ended", error.detail, .signIn)
        case .invalidToken: self.init(401, "invalid_token", error.detail, .signIn)
        case .invalidTarget: self.init(403, "access_denied", error.detail, .signIn)
        case .invalidDPoPProof: self.init(400, "invalid_proof", error.detail, .correctRequest)
        case .temporarilyUnavailable: self.init(503, "unavailable", error.detail, .retryLater, because: failure)
        case .serverError: self.init(500, "server_error", error.detail, .retryLater, because: failure)
        default: self.init(400, "invalid_request", error.detail, .correctRequest)
        }
    }

    /// What has failed below; its detail is for the log only.
    init(_ failure: Failure) {
        guard failure.reason != .signInSignedOut else {
            self.init(401, "session_ended", "the user was signed out meanwhile", .signIn, because: failure)
            return
        }
        switch failure.kind {
        case .tooMany:
            self.init(
                429,
                "too_many_attempts",
                "wait as many seconds as Retry-After has",
                .retryLater,
                because: failure
            )
        case .overloaded:
            self.init(OAuthError(.temporarilyUnavailable, "see the log of the gateway"), because: failure)
        default: self.init(OAuthError(.serverError, "see the log of the gateway"), because: failure)
        }
    }

    /// The body of the response.
    func json(incident: String) -> JSON {
        [
            "error": [
                "code": .string(self.code), "message": .string(self.message),
                "recovery": .string(self.recovery.rawValue), "incident": .string(incident),
            ]
        ]
    }
}
