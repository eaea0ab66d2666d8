// SPDX-License-Identifier: Apache-2.0

/// The field names that mean something to the gateway.
package enum FieldName: UInt8, Sendable, CaseIterable {
    /// Any other name; it is passed on as it is.
    case other
    /// `Host`
    case host
    /// `Connection`
    case connection
    /// `Keep-Alive`
    case keepAlive
    /// `Proxy-Connection`
    case proxyConnection
    /// `Proxy-Authorization`
    case proxyAuthorization
    /// `Proxy-Authenticate`
    case proxyAuthenticate
    /// `Transfer-Encoding`
    case transferEncoding
    /// `Content-Length`
    case contentLength
    /// `TE`
    case te
    /// `Trailer`
    case trailer
    /// `Upgrade`
    case upgrade
    /// `HTTP2-Settings`
    case http2Settings
    /// `Expect`
    case expect
    /// `Cookie`
    case cookie
    /// `Authorization`
    case authorization
    /// `Accept`
    case accept
    /// `Origin`
    case origin
    /// `Sec-Fetch-Mode`
    case secFetchMode
    /// `Sec-Fetch-Site`
    case secFetchSite
    /// `X-Requested-With`
    case xRequestedWith
    /// `X-Request-Id`
    case xRequestID
    /// `Forwarded`
    case forwarded
    /// `X-Forwarded-For`
    case xForwardedFor
    /// `X-Forwarded-Proto`
    case xForwardedProto
    /// `X-Forwarded-Host`
    case xForwardedHost
    /// `CDN-Loop`, RFC 8586
    case cdnLoop
    /// `Content-Encoding`, `Content-Language` and their like
    case content
    /// `Content-Type`
    case contentType
    /// `Content-Location`
    case contentLocation
    /// `Location`
    case location
    /// `Refresh`
    case refresh
    /// `Referer`
    case referer
    /// `Destination`, RFC 4918 §10.3
    case destination
    /// `Date`
    case date
    /// `Cache-Control`, `Expires` and `Pragma`, any of which says how a response may be stored
    case caching
    /// `Set-Cookie`
    case setCookie
    /// A name that only the gateway may set towards an app, or towards a browser.
    case managed
    /// A name with `_`, `.` or another character that is no letter, digit or `-`, which app servers may change into one.
    case irregular
    /// Such a name that is one with a meaning once each of these characters is read as `-`; it is never forwarded.
    case disguised

    /// Whether the field concerns one connection only, whatever `Connection` says.
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

    /// Whether no honest client sends it under an irregular name: such a field frames a message, names a host or carries an
    /// identity for a server that reads the name as the regular one.
    var isForgedIfIrregular: Bool {
        switch self {
        case .host, .contentLength, .expect, .managed, .forwarded, .xForwardedFor, .xForwardedProto, .xForwardedHost,
            .xRequestID:
            true
        default: self.isHopByHop
        }
    }

    /// Whether a client must not have it removed by naming it in `Connection`.
    package var isProtectedFromConnection: Bool {
        switch self {
        case .host, .cookie, .authorization, .content, .contentType, .contentLocation, .contentLength, .managed,
            .forwarded, .xForwardedFor, .xForwardedProto, .xForwardedHost, .xRequestID, .origin, .secFetchMode,
            .secFetchSite, .cdnLoop:
            true
        default: false
        }
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
        case .caching: ["cache-control", "expires", "pragma"]
        case .setCookie: ["set-cookie"]
        case .managed: FieldName.managedSpellings
        }
    }

    /// Names by which an app could take a user's identity, client IP or another path, beside those of ``managedPrefixes``.
    private static let managedSpellings = [
        "x-real-ip", "x-client-ip", "x-cluster-client-ip", "true-client-ip", "cf-connecting-ip", "x-user", "x-email",
        "x-username", "x-user-id", "x-user-name", "x-user-email", "x-user-groups", "x-user-roles", "x-groups",
        "x-roles", "x-role", "x-scheme", "x-url-scheme", "front-end-https", "x-forwarded", "x-host", "proxy",
        "x-original", "x-ssl", "ssl-cert", "x-client-dn",
        // What some servers take for the path, or for what they were asked for, in place of the request line.
        "x-script-name", "script-name", "x-path-info", "path-info", "x-override-url", "x-real-url", "x-proxy-url",
        "request-uri", "x-waws-unencoded-url", "x-http-destinationurl", "x-sendfile-type",
    ]

    /// Families of such names: those of this gateway, of other gateways and proxies, and of CGI.
    static let managedPrefixes = [
        "x-forwarded-", "x-original-", "x-rewrite-", "x-gatehouse-", "x-envoy-", "x-accel-",
        "x-middleware-subrequest",
        // oauth2-proxy, Authelia, Authentik, Vouch, Pomerium, Traefik and Grafana's own.
        "x-auth-", "x-authenticated-", "x-remote-", "remote-", "x-webauth-", "x-authentik-", "x-vouch-", "x-pomerium-",
        // Clouds and tunnels.
        "x-goog-", "x-amzn-oidc-", "x-ms-client-principal", "x-ms-token-", "cf-access-", "tailscale-",
        // Client certificates.
        "x-ssl-", "ssl-client-", "x-client-cert", "x-client-verify",
    ]

    /// What names of requests begin with that browsers, libraries and common protocols send, up to the first `-`.
    static let commonBeginnings: Set<String> = [
        "accept", "access", "alt", "authorization", "cache", "client", "connection", "content", "cookie", "cross",
        "device", "docker", "early", "git", "grpc", "hx", "http2", "idempotency", "if", "keep", "last", "lock", "max",
        "mime", "origin", "permissions", "prefer", "priority", "proxy", "save", "sec", "service", "transfer", "tus",
        "upgrade", "upload", "user", "viewport", "want", "www",
    ]

    /// Names of these families that carry a secret which the app verifies itself, so that they cannot be forged.
    static let credentials = ["x-auth-token", "x-auth-key"]
}

/// Tells the meaning of a field name in one hash and one comparison.
///
/// Made once for a configuration, because apps may have identity fields under names of their own, and those are removed
/// from what clients send on every route.
package final class FieldNames: Sendable {
    /// Positions in `names`, from 1; 0 is an empty slot.
    ///
    /// At least three in four are empty.
    private let slots: [UInt32]
    /// One less than the number of slots, which is a power of two.
    private let mask: Int
    private let names: [[UInt8]]
    private let meanings: [FieldName]
    /// The prefixes of managed names by their first letter, from `a`.
    private let prefixes: [[[UInt8]]]

    /// The names as they count in the answers of apps, where only the gateway's own family is its own.
    package static let answers = FieldNames(
        FieldName.allCases.filter { $0 != .managed }.flatMap { name in name.spellings.map { ($0, name) } },
        prefixes: ["x-gatehouse-"]
    )

    /// The names as they count in requests, and more that only the gateway may set, in any case of letters.
    ///
    /// - Parameter identity: Names in which apps take an identity field; each protects its whole family, since an app that
    ///   reads `X-WEBAUTH-USER` may read `X-WEBAUTH-ROLE` too.
    package convenience init(alsoManaged identity: [String] = []) {
        let own = FieldName.allCases.flatMap { name in name.spellings.map { ($0, name) } }
        let names = identity.map { $0.lowercased() }
        let more = names.map { ($0, FieldName.managed) }
        let credentials = FieldName.credentials.filter { !names.contains($0) }.map { ($0, FieldName.other) }
        // The first wins: what an app takes for an identity is managed whatever else it means.
        self.init(more + own + credentials, prefixes: FieldName.managedPrefixes + names.compactMap(FieldNames.family))
    }

    /// What the names of a family begin with: all up to the last `-`, unless that is only `x-` or begins names of HTTP itself.
    ///
    /// `User-Email` protects no `User-`, since `User-Agent` begins so too.
    private static func family(of name: String) -> String? {
        guard let dash = name.lastIndex(of: "-"), let first = name.firstIndex(of: "-") else { return nil }
        let family = name[...dash]
        guard family.count > 2, !FieldName.commonBeginnings.contains(String(name[..<first])) else { return nil }
        return String(family)
    }

    private init(_ entries: [(spelling: String, meaning: FieldName)], prefixes: [String]) {
        var slotCount = 1024
        while slotCount < entries.count * 4 {
            slotCount *= 2
        }
        var slots = [UInt32](repeating: 0, count: slotCount)
        var known: Set<String> = []
        var names: [[UInt8]] = []
        var meanings: [FieldName] = []
        for (spelling, meaning) in entries {
            let bytes = Array(spelling.utf8)
            guard known.insert(spelling).inserted else { continue }
            var slot = Int(bytes.reduce(FieldNames.seed, FieldNames.step)) & (slotCount - 1)
            while slots[slot] != 0 {
                slot = (slot + 1) & (slotCount - 1)
            }
            names.append(bytes)
            meanings.append(meaning)
            slots[slot] = UInt32(names.count)
        }
        self.slots = slots
        self.mask = slotCount - 1
        self.names = names
        self.meanings = meanings
        self.prefixes = (UInt8(ascii: "a")...UInt8(ascii: "z")).map { letter in
            Set(prefixes).map { Array($0.utf8) }.filter { $0.first == letter }
        }
    }

    /// The hash of an empty name.
    static let seed: UInt32 = 0x811C_9DC5

    /// The hash with one more byte, letter case aside.
    ///
    /// FNV-1a.
    static func step(_ hash: UInt32, _ byte: UInt8) -> UInt32 {
        (hash ^ UInt32(byte | 0x20)) &* 0x0100_0193
    }

    /// The meaning of the name in `bytes[range]`, whose hash the caller has made while checking it.
    func meaning(of bytes: Span<UInt8>, in range: Range<Int>, hash: UInt32) -> FieldName {
        var slot = Int(hash) & self.mask
        while self.slots[slot] != 0 {
            let index = Int(self.slots[slot]) - 1
            if FieldNames.spells(self.names[index], bytes, range, whole: true) { return self.meanings[index] }
            slot = (slot + 1) & self.mask
        }
        let letter = Int(bytes[range.lowerBound] | 0x20) - 0x61
        guard self.prefixes.indices.contains(letter) else { return .other }
        for prefix in self.prefixes[letter] where FieldNames.spells(prefix, bytes, range, whole: false) {
            return .managed
        }
        return .other
    }

    /// The meaning of a name of token characters that are not all letters, digits and `-`; nil for one that is forged.
    ///
    /// CGI and its successors turn such characters into the same `_` as `-`, so `X_Forwarded_User` is `X-Forwarded-User`
    /// to many apps.
    func meaning(ofIrregular name: Span<UInt8>) -> FieldName? {
        // No honest name has an escape, and what it stands for depends on who reads it.
        guard !name.indices.contains(where: { name[$0] == UInt8(ascii: "%") }) else { return nil }
        let regular = name.indices.map { ByteClass.isPlainName(name[$0]) ? name[$0] : UInt8(ascii: "-") }
        let hash = regular.reduce(FieldNames.seed, FieldNames.step)
        let meaning = self.meaning(of: regular.span, in: 0..<regular.count, hash: hash)
        guard !meaning.isForgedIfIrregular else { return nil }
        return meaning == .other ? .irregular : .disguised
    }

    /// The meaning of a name as text, for lists such as `Connection`.
    package func meaning(of name: String) -> FieldName {
        let bytes = Array(name.utf8)
        guard !bytes.isEmpty else { return .other }
        return self.meaning(of: bytes.span, in: 0..<bytes.count, hash: bytes.reduce(FieldNames.seed, FieldNames.step))
    }

    private static func spells(_ name: [UInt8], _ bytes: Span<UInt8>, _ range: Range<Int>, whole: Bool) -> Bool {
        guard whole ? name.count == range.count : name.count <= range.count else { return false }
        let start = range.lowerBound
        for index in name.indices {
            let byte = bytes[start + index]
            let lower = byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte
            guard lower == name[index] else { return false }
        }
        return true
    }
}
