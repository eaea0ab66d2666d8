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
    /// `Content-Type`, `Content-Encoding` and their like
    case content
    /// `Set-Cookie`
    case setCookie
    /// A name that only the gateway may set towards an app, or towards a browser.
    case managed

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

    /// Whether a client must not have it removed by naming it in `Connection`.
    package var isProtectedFromConnection: Bool {
        switch self {
        case .host, .cookie, .authorization, .content, .contentLength, .managed, .forwarded, .xForwardedFor,
            .xForwardedProto, .xForwardedHost, .xRequestID, .origin, .secFetchMode, .secFetchSite, .cdnLoop:
            true
        default: false
        }
    }

    /// The spellings, in lower case.
    var spellings: [String] {
        switch self {
        case .other: []
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
        case .content: ["content-type", "content-encoding", "content-language", "content-location", "content-range"]
        case .setCookie: ["set-cookie"]
        case .managed: FieldName.managedSpellings
        }
    }

    /// Names by which an app could take a person's identity or address, beside those of ``managedPrefixes``.
    private static let managedSpellings = [
        "x-real-ip", "x-client-ip", "x-cluster-client-ip", "true-client-ip", "cf-connecting-ip", "remote-user",
        "remote-email", "remote-name", "remote-groups", "x-remote-user", "x-remote-group", "x-user", "x-email",
        "x-webauth-user", "front-end-https",
    ]

    /// Families of such names.
    static let managedPrefixes = [
        "x-forwarded-", "x-original-", "x-rewrite-", "x-gatehouse-", "x-auth-request-", "x-auth-user", "x-envoy-",
    ]
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
    private let prefixes: [[UInt8]]

    /// The names as they count in the answers of apps, where only the gateway's own family is its own.
    package static let answers = FieldNames(
        FieldName.allCases.filter { $0 != .managed }.flatMap { name in name.spellings.map { ($0, name) } },
        prefixes: ["x-gatehouse-"]
    )

    /// The names as they count in requests, and more that only the gateway may set, in any case of letters.
    package convenience init(alsoManaged: [String] = []) {
        let own = FieldName.allCases.flatMap { name in name.spellings.map { ($0, name) } }
        let more = alsoManaged.map { ($0.lowercased(), FieldName.managed) }
        self.init(own + more, prefixes: FieldName.managedPrefixes)
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
        self.prefixes = prefixes.map { Array($0.utf8) }
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
        guard bytes[range.lowerBound] | 0x20 == UInt8(ascii: "x") else { return .other }
        return self.prefixes.contains { FieldNames.spells($0, bytes, range, whole: false) } ? .managed : .other
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
