// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Why an endpoint refuses, before it is written down as the provider at hand does.
struct OAuthError: Sendable {
    let error: String
    let text: String
    let status: Int

    init(_ error: String, _ text: String, status: Int = 400) {
        self.error = error
        self.text = text
        self.status = status
    }
}

/// How a provider writes an error.
struct OAuthErrorFormat: Sendable {
    let response: @Sendable (OAuthError) -> DemoResponse

    /// `error` and `error_description`.
    ///
    /// RFC 6749 §5.2.
    static let standard = OAuthErrorFormat { problem in
        let body: JSON = ["error": .string(problem.error), "error_description": .string(problem.text)]
        return .json(body, status: problem.status, fields: challenge(for: problem))
    }

    /// `error` alone.
    static let bare = OAuthErrorFormat { problem in
        .json(["error": .string(problem.error)], status: problem.status, fields: challenge(for: problem))
    }

    /// An object where RFC 6749 has a text.
    static let nested = OAuthErrorFormat { problem in
        let error: JSON = ["code": .string(problem.error), "message": .string(problem.text)]
        return .json(["error": error], status: problem.status)
    }

    /// RFC 6750 §3.
    private static func challenge(for problem: OAuthError) -> [(name: String, value: String)] {
        problem.status == 401 ? [("WWW-Authenticate", "Bearer error=\"\(problem.error)\"")] : []
    }
}
