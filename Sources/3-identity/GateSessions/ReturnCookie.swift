// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// A return path in cookies of its host, sealed and compressed, until the user has signed in.
///
/// Browsers keep 4 KB in a cookie, and servers and proxies accept 8 KiB in a field by default. So a path is compressed, which
/// makes even text without any order as short as it was before base64url; older paths go before the `Cookie` field becomes
/// too long; and one that does not fit then is not kept, which a page reports to the user.
package struct ReturnCookie: Sendable {
    /// How long a path is kept: as long as the cookie of an attempt.
    package static let lifetime = Duration.seconds(Int64(GatewayCookie.attemptSeconds))
    /// Below this, the `Cookie` field with the attempt that follows is shorter than 8 KiB.
    private static let maxField = 7400
    /// What is kept in one cookie even beside many others.
    private static let maxSmall = SplitCookie.maxPieceBytes
    /// Below this, the gateway itself accepts the `Cookie` field, whatever other cookies there are.
    private static let maxFieldWithSmall = 12_000

    private let origin: Origin
    private let sealer: Sealer

    /// The cookies of an origin.
    package init(at origin: Origin, sealer: Sealer) {
        self.origin = origin
        self.sealer = sealer
    }

    /// The `Set-Cookie` values that keep a path, and make the browser forget older ones; nil if it is too long.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - id: What names it: ``newID(random:)``, or the `state` of an attempt.
    ///   - header: The cookies of the request.
    ///   - now: The time.
    /// - Returns: The values.
    package func settings(
        _ path: ReturnPath,
        as id: String,
        replacing header: CookieHeader,
        now: Instant
    ) -> [String]? {
        let text = Base64URL.encode(self.sealer.seal(self.encoded(path, now: now), for: self.purpose(id)))
        guard let cookie = self.cookie(of: id), text.utf8.count <= SplitCookie.maxBytes else { return nil }
        var held = GatewayCookie.returnPaths(in: header, at: self.origin)
        var others = header.byteCount
        var dropped: [GatewayCookie] = []
        while !held.isEmpty,
            held.count >= GatewayCookie.maxReturnPaths || others + text.utf8.count > ReturnCookie.maxField
        {
            let oldest = held.removeFirst()
            others -= header.byteCount(ofNamesWithPrefix: oldest.name)
            dropped.append(oldest)
        }
        let isSmall = text.utf8.count <= ReturnCookie.maxSmall
        guard others + text.utf8.count <= (isSmall ? ReturnCookie.maxFieldWithSmall : ReturnCookie.maxField) else {
            return nil
        }
        return dropped.flatMap { $0.deletions(in: header) } + cookie.settings(text)
    }

    /// The path in the cookie of an id; nil without one.
    package func path(of id: String, in header: CookieHeader, now: Instant) -> ReturnPath? {
        guard let cookie = self.cookie(of: id), let text = header.value(ofSplit: cookie.name),
            let sealed = Base64URL.decode(String(decoding: text, as: UTF8.self)),
            let plain = self.sealer.open(sealed, for: self.purpose(id))
        else { return nil }
        return self.decoded(plain, now: now)
    }

    /// The `Set-Cookie` values that make the browser forget the path of an id; none if it did not send one.
    package func deletions(of id: String, in header: CookieHeader) -> [String] {
        guard let cookie = self.cookie(of: id), header.lookup(cookie.name) != .absent else { return [] }
        return cookie.deletions(in: header)
    }

    package static func newID(random: RandomBytes) -> String { random.token(8) }

    /// The cookie is named after the first bytes of the id.
    private func cookie(of id: String) -> GatewayCookie? {
        guard let bytes = Base64URL.decode(String(id.utf8.prefix { $0 != UInt8(ascii: ".") }) ?? "") else { return nil }
        return GatewayCookie.returnPath(GatewayCookie.tag(of: bytes), at: self.origin)
    }

    /// The whole id is bound, and the host, so a cookie opens as nothing else.
    private func purpose(_ id: String) -> String { "return/path/\(self.origin.host)/\(id)" }

    /// The expiry in eight bytes, then 1 and the compressed path, or 0 and the path.
    private func encoded(_ path: ReturnPath, now: Instant) -> [UInt8] {
        let expires = now.advanced(by: ReturnCookie.lifetime).seconds
        let time = (0..<8).map { UInt8(truncatingIfNeeded: expires >> Int64(56 - 8 * $0)) }
        let bytes = Array(path.value.utf8)
        return time + (Compression.compress(bytes, as: .raw).map { [1] + $0 } ?? [0] + bytes)
    }

    private func decoded(_ bytes: [UInt8], now: Instant) -> ReturnPath? {
        guard bytes.count > 9 else { return nil }
        guard now.seconds < bytes[..<8].reduce(Int64(0), { $0 << 8 | Int64($1) }) else { return nil }
        let rest = Array(bytes[9...])
        let plain = bytes[8] == 1 ? Compression.expand(rest, limit: ReturnPath.maxLength) : rest
        return plain.flatMap { String(validating: $0, as: UTF8.self) }.flatMap(ReturnPath.init(requested:))
    }
}
