// SPDX-License-Identifier: Apache-2.0

/// The field names with a meaning to the gateway.
package enum FieldName: UInt8, Sendable, CaseIterable {
    /// Any other name; forwarded unchanged.
    case other
    case host
    case connection
    case keepAlive
    case proxyConnection
    case proxyAuthorization
    case proxyAuthenticate
    case transferEncoding
    case contentLength
    case te
    case trailer
    case upgrade
    /// `HTTP2-Settings`
    case http2Settings
    case expect
    case cookie
    case authorization
    case accept
    case origin
    case secFetchMode
    case secFetchSite
    case xRequestedWith
    case xRequestID
    case forwarded
    case xForwardedFor
    case xForwardedProto
    case xForwardedHost
    /// `CDN-Loop`, RFC 8586
    case cdnLoop
    /// `Content-Encoding`, `Content-Language` and `Content-Range`
    case content
    case contentType
    case contentLocation
    case location
    case refresh
    case referer
    /// `Destination`, RFC 4918 §10.3
    case destination
    case date
    /// `traceparent`, W3C Trace Context
    case traceParent
    /// `tracestate`
    case traceState
    /// `Cache-Control`, `Expires` and `Pragma`, any of which controls how a response is cached
    case caching
    case setCookie
    /// A name that only the gateway may set, in requests to apps and responses to clients.
    case managed
    /// A name with `_`, `.` or another character that is not a letter, digit or `-`, which app servers may map to `-`.
    case irregular
    /// An irregular name that has a meaning once each of these characters is replaced by `-`; never forwarded.
    case disguised

    /// Whether the field applies to one connection only, whether `Connection` names it or not.
    ///
    /// RFC 9110 §7.6.1.
    package var isHopByHop: Bool {
        switch self {
        case .connection, .keepAlive, .proxyConnection, .proxyAuthorization, .proxyAuthenticate, .transferEncoding,
            .te, .trailer, .upgrade, .http2Settings:
            true
        default: false
        }
    }

    /// Whether a request with this field under an irregular name is rejected: for a server that maps the name to the
    /// regular one, the field frames the message, names a host or carries an identity.
    var isForgedIfIrregular: Bool {
        switch self {
        case .host, .contentLength, .expect, .managed, .forwarded, .xForwardedFor, .xForwardedProto, .xForwardedHost,
            .xRequestID:
            true
        default: self.isHopByHop
        }
    }

    /// Whether the field is kept although the client names it in `Connection`.
    package var isProtectedFromConnection: Bool {
        switch self {
        case .host, .cookie, .authorization, .content, .contentType, .contentLocation, .contentLength, .managed,
            .forwarded, .xForwardedFor, .xForwardedProto, .xForwardedHost, .xRequestID, .origin, .secFetchMode,
            .secFetchSite, .cdnLoop:
            true
        default: false
        }
    }

    /// Whether a name, in any letter case, is one that the gateway reads itself, and not only removes.
    package static func hasMeaning(_ name: String) -> Bool {
        let folded = name.lowercased()
        return FieldName.allCases.contains { $0 != .managed && $0.spellings.contains(folded) }
    }

    /// The spellings, in lower case.
    var spellings: [String] {
        switch self {
        case .other, .irregular, .disguised: []
        case .host: ["host"]
        case .connection: ["connection"]
        case .keepAlive: ["keep-alive"]
        case .proxyConnection: ["proxy-connection"]
        case .proxyAuthorization: ["proxy-authorization"]
        case .proxyAuthenticate: ["proxy-authenticate"]
        case .transferEncoding: ["transfer-encoding"]
        case .contentLength: ["content-length"]
        case .te: ["te"]
        case .trailer: ["trailer"]
        case .upgrade: ["upgrade"]
        case .http2Settings: ["http2-settings"]
        case .expect: ["expect"]
        case .cookie: ["cookie"]
        case .authorization: ["authorization"]
        case .accept: ["accept"]
        case .origin: ["origin"]
        case .secFetchMode: ["sec-fetch-mode"]
        case .secFetchSite: ["sec-fetch-site"]
        case .xRequestedWith: ["x-requested-with"]
        case .xRequestID: ["x-request-id"]
        case .forwarded: ["forwarded"]
        case .xForwardedFor: ["x-forwarded-for"]
        case .xForwardedProto: ["x-forwarded-proto"]
        case .xForwardedHost: ["x-forwarded-host"]
        case .cdnLoop: ["cdn-loop"]
        case .content: ["content-encoding", "content-language", "content-range"]
        case .contentType: ["content-type"]
        case .contentLocation: ["content-location"]
        case .location: ["location"]
        case .refresh: ["refresh"]
        case .referer: ["referer"]
        case .destination: ["destination"]
        case .date: ["date"]
        case .traceParent: ["traceparent"]
        case .traceState: ["tracestate"]
        case .caching: ["cache-control", "expires", "pragma"]
        case .setCookie: ["set-cookie"]
        case .managed: ManagedFields.spellings
        }
    }

    /// The first words, up to the first `-`, of names that browsers, libraries and common protocols send in requests.
    static let commonBeginnings: Set<String> = [
        "accept", "access", "alt", "authorization", "cache", "client", "connection", "content", "cookie", "cross",
        "device", "docker", "early", "git", "grpc", "hx", "http2", "idempotency", "if", "keep", "last", "lock", "max",
        "mime", "origin", "permissions", "prefer", "priority", "proxy", "save", "sec", "service", "transfer", "tus",
        "upgrade", "upload", "user", "viewport", "want", "www",
    ]
}
