// SPDX-License-Identifier: Apache-2.0

/// The method of a request: any token but `CONNECT`, `TRACE`, `TRACK` and `PRI`, in any letter case.
///
/// RFC 9110 §9.
package enum RequestMethod: Sendable, Hashable {
    case get
    case head
    case post
    case put
    case patch
    case delete
    case options
    /// Any other, such as those of WebDAV; letter case matters.
    case other(String)

    /// The methods that nearly all apps know.
    package static let common: [RequestMethod] = [.get, .head, .post, .put, .patch, .delete, .options]
    /// The methods that are never forwarded: they open a tunnel or return the received head.
    private static let forbidden: Set<String> = ["CONNECT", "TRACE", "TRACK", "PRI"]

    /// Whether a token is a method that is never forwarded, in any letter case.
    static func isForbidden(_ token: String) -> Bool { self.forbidden.contains(token.uppercased()) }

    /// Parses a token; nil for a method that is never forwarded, and for a common one in another letter case.
    ///
    /// Letter case matters (RFC 9110 §9.1), but not to every server: `get` must not bypass a rule for `GET`.
    package init?(rawValue: String) {
        switch rawValue {
        case "GET": self = .get
        case "HEAD": self = .head
        case "POST": self = .post
        case "PUT": self = .put
        case "PATCH": self = .patch
        case "DELETE": self = .delete
        case "OPTIONS": self = .options
        default:
            let capitals = rawValue.uppercased()
            guard !RequestMethod.forbidden.contains(capitals),
                !RequestMethod.common.contains(where: { $0.rawValue == capitals })
            else { return nil }
            self = .other(rawValue)
        }
    }

    /// The method as in the start line.
    package var rawValue: String {
        switch self {
        case .get: "GET"
        case .head: "HEAD"
        case .post: "POST"
        case .put: "PUT"
        case .patch: "PATCH"
        case .delete: "DELETE"
        case .options: "OPTIONS"
        case .other(let token): token
        }
    }

    /// Whether the method is known to be safe; unknown methods are not.
    ///
    /// RFC 9110 §9.2.1.
    package var isSafe: Bool {
        switch self {
        case .get, .head, .options: true
        case .post, .put, .patch, .delete, .other: false
        }
    }

    /// Whether a request without a body gets `Content-Length: 0`, because servers expect a body with this method.
    ///
    /// RFC 9110 §8.6.
    package var usuallyHasBody: Bool {
        switch self {
        case .post, .put, .patch: true
        case .get, .head, .delete, .options, .other: false
        }
    }

    /// Whether the response has no body whatever its fields are.
    ///
    /// Not with `==`, which other modules call through a witness table: this is evaluated for each request.
    package var isHead: Bool { if case .head = self { true } else { false } }
}
