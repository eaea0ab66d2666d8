// SPDX-License-Identifier: Apache-2.0

/// Why a redirect URI cannot be registered.
package enum RedirectURIFailure: Error, Hashable, CaseIterable {
    /// It is longer than ``RedirectURI/maxLength``.
    case tooLong
    /// It has a character that RFC 3986 §2 does not allow: a control character, a space, or none of ASCII.
    case character
    /// It has a backslash, which browsers read as a slash.
    case backslash
    /// It has a `*`.
    case wildcard
    /// It has a fragment, RFC 6749 §3.1.2.
    case fragment
    /// It has a malformed escape, or one of a character that changes the path where it is decoded.
    case escape
    /// It is not an absolute URI.
    case relative
    /// It has capital letters in the scheme or the host.
    case capitals
    /// Its scheme makes a browser run or open the rest.
    case forbiddenScheme
    /// Its scheme is not a domain in reverse order, RFC 8252 §7.1.
    case schemeWithoutDomain
    /// It is plain http, but not on loopback.
    case plainHTTP
    /// It has a user name before the host.
    case userName
    /// Its host is neither a name nor an IP address.
    case host
    /// Its host ends in a dot.
    case trailingDot
    /// Its port is not a number from 1 to 65535.
    case port
    /// Its path has a segment `.` or `..`.
    case dotSegment
    /// Its query has a parameter of the response.
    case responseParameter

    /// What is wrong and what to do, to follow the URI in a message.
    package var message: String {
        switch self {
        case .tooLong:
            "is longer than \(RedirectURI.maxLength) bytes; shorten it, since the client can keep its state itself"
        case .character:
            "has a space, a control character or another character that is not allowed in a URL; write it percent-encoded, "
                + "a host in its 'xn--' form"
        case .backslash: "has a backslash, which browsers read as '/'; write '/'"
        case .wildcard: "has a '*', but redirect URIs are compared exactly; write each URI that the client uses"
        case .fragment: "has a fragment; remove it from the '#' on"
        case .escape:
            "has a broken escape, or one of '.', '/', '\\' or a control character in the path, which browsers and servers "
                + "read differently; write the character itself, or remove it"
        case .relative:
            "is not an absolute URL; write it from its scheme on, such as https://notes.example.com/callback"
        case .capitals: "has capital letters in its scheme or host; write them in lower case, as browsers send them"
        case .forbiddenScheme:
            "has a scheme that a browser runs or opens itself; use https, or a scheme such as com.example.notes"
        case .schemeWithoutDomain:
            "has a scheme that is not a domain in reverse order; use one such as com.example.notes, which no other app may "
                + "claim"
        case .plainHTTP:
            "is plain http, so that others can read the code; use https, or http://127.0.0.1 or http://[::1] for an app on the "
                + "same machine"
        case .userName: "has a user name before the host; remove it up to the '@'"
        case .host: "has no valid host; write a name or an IP address"
        case .trailingDot:
            "has a dot at the end of its host; remove it, since 'example.com.' is another origin for browsers"
        case .port: "has a port that is not a number from 1 to 65535 without leading zeros; correct or remove it"
        case .dotSegment: "has a segment '.' or '..', which browsers resolve; write the path without it"
        case .responseParameter:
            "has a parameter of the response, such as 'code' or 'state', in its query; rename the parameter"
        }
    }
}
