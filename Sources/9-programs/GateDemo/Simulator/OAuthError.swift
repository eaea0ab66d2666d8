// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// An error of an endpoint, before it is written in the provider's format.
struct OAuthError: Error, Sendable {
    let error: String
    let text: String
    let status: Int

    init(_ error: String, _ text: String = "", status: Int = 400) {
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
    static let standard = OAuthErrorFormat { error in
        let body: JSON = ["error": .string(error.error), "error_description": .string(error.text)]
        return .json(body, status: error.status, fields: challenge(for: error))
    }

    /// `error` alone.
    static let bare = OAuthErrorFormat { error in
        .json(["error": .string(error.error)], status: error.status, fields: challenge(for: error))
    }

    /// An object in place of the string of RFC 6749.
    static let nested = OAuthErrorFormat { error in
        let object: JSON = ["code": .string(error.error), "message": .string(error.text)]
        return .json(["error": object], status: error.status)
    }

    /// RFC 6750 §3.
    private static func challenge(for error: OAuthError) -> [(name: String, value: String)] {
        error.status == 401 ? [("WWW-Authenticate", "Bearer error=\"\(error.error)\"")] : []
    }
}
