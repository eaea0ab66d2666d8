// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// One of the cookies that the gateway sets: its name and its attributes.
///
/// None has a `Domain`, so each belongs to one host; over https the `__Host-` prefix makes the browser insist on it
/// (RFC 6265bis §4.1.3.2).
package struct GatewayCookie: Sendable, Hashable {
    /// How long the browser keeps the cookie of a sign-in attempt, in seconds: longer than the attempt lasts, so that a late
    /// callback is reported as expired instead of unknown.
    package static let attemptSeconds = 3600
    /// How long a session transfer may take, in seconds.
    package static let transferSeconds = 600
    /// The maximum number of return paths that a browser keeps for one host.
    static let maxReturnPaths = 8
    /// The maximum number of open sign-in attempts, and of open session transfers on one host, of a browser.
    package static let maxAttempts = 5

    package private(set) var name: String
    private let isSecure: Bool
    private let seconds: Int?
    private let isCrossSite: Bool

    private init(_ base: String, at origin: Origin, seconds: Int?, isCrossSite: Bool = false) {
        self.name = GatewayCookie.name(base, isSecure: origin.isSecure)
        self.isSecure = origin.isSecure
        self.seconds = seconds
        self.isCrossSite = isCrossSite && origin.isSecure
    }

    /// The cookie that holds the ticket; see also ``settings(_:replacing:)``.
    ///
    /// - Parameters:
    ///   - origin: The origin of the host.
    ///   - time: How long the browser keeps it; nil to let it expire with the browser session.
    /// - Returns: The cookie; its ``deletion`` does not depend on the time.
    package static func session(at origin: Origin, for time: Duration? = nil) -> GatewayCookie {
        GatewayCookie(GatewayCookie.base, at: origin, seconds: time.map { max(1, Int($0.wholeSeconds)) })
    }

    /// The cookie of one sign-in attempt.
    ///
    /// - Parameters:
    ///   - tag: Eight lower-case hexadecimal digits that distinguish the attempts of a browser.
    ///   - origin: The origin of `public_url`.
    ///   - isCrossSite: Whether the provider responds with a form that it posts from its own site.
    /// - Returns: The cookie, or nil if the tag is malformed.
    package static func attempt(_ tag: String, at origin: Origin, isCrossSite: Bool = false) -> GatewayCookie? {
        guard GatewayCookie.isTag(tag.utf8) else { return nil }
        return GatewayCookie(
            "\(GatewayCookie.attemptBase)\(tag)",
            at: origin,
            seconds: GatewayCookie.attemptSeconds,
            isCrossSite: isCrossSite
        )
    }

    /// The cookie that binds one session transfer to the browser; nil if the tag is malformed.
    package static func sessionTransfer(_ tag: String, at origin: Origin) -> GatewayCookie? {
        guard GatewayCookie.isTag(tag.utf8) else { return nil }
        return GatewayCookie("\(GatewayCookie.transferBase)\(tag)", at: origin, seconds: GatewayCookie.transferSeconds)
    }

    /// The cookie that holds a return path, for as long as an attempt; nil if the tag is malformed.
    ///
    /// It comes along with a form that a provider posts from its own site, as that of the attempt does.
    static func returnPath(_ tag: String, at origin: Origin) -> GatewayCookie? {
        guard GatewayCookie.isTag(tag.utf8) else { return nil }
        let name = "\(GatewayCookie.returnBase)\(tag)"
        return GatewayCookie(name, at: origin, seconds: GatewayCookie.attemptSeconds, isCrossSite: true)
    }

    /// The cookie that binds the state of a sign-out to the browser; a later sign-out replaces it.
    package static func signOut(at origin: Origin) -> GatewayCookie {
        GatewayCookie(GatewayCookie.signOutBase, at: origin, seconds: Int(SignOutState.lifetime.wholeSeconds))
    }

    /// The cookie with the provider that the user signed in with last, so that the sign-in page has it first; it proves nothing.
    package static func lastProvider(at origin: Origin) -> GatewayCookie {
        GatewayCookie(GatewayCookie.lastProviderBase, at: origin, seconds: 400 * 86_400)
    }

    /// The cookie that binds the pushed requests of clients to the browser that has brought them.
    package static func pushedRequest(at origin: Origin, for time: Duration) -> GatewayCookie {
        GatewayCookie(GatewayCookie.pushedBase, at: origin, seconds: Int(time.wholeSeconds))
    }

    /// The cookie of a sign-in that confirms the session for one change, for ten minutes.
    package static func confirmation(at origin: Origin) -> GatewayCookie {
        GatewayCookie(GatewayCookie.confirmationBase, at: origin, seconds: 600)
    }

    /// The cookie that marks a browser from which the user of a local account has signed in.
    package static func device(at origin: Origin, for time: Duration) -> GatewayCookie {
        GatewayCookie(GatewayCookie.deviceBase, at: origin, seconds: Int(time.wholeSeconds))
    }

    /// The value of the `Set-Cookie` field that sets the cookie; `value` is base64url.
    package func setting(_ value: String) -> String {
        self.line(value: value, seconds: self.seconds)
    }

    /// The value of the `Set-Cookie` field that makes the browser forget the cookie.
    package var deletion: String { self.line(value: "", seconds: 0) }

    /// The `Set-Cookie` values that set a ticket in pieces as long as ``SplitCookie`` allows, and make the browser forget
    /// further pieces.
    ///
    /// - Parameters:
    ///   - ticket: The ticket.
    ///   - header: The cookies of the request.
    /// - Returns: The values; the first is that of the cookie itself.
    package func settings(_ ticket: Ticket, replacing header: CookieHeader) -> [String] {
        let settings = self.settings(ticket.text)
        var surplus = self.pieces(in: header, from: settings.count)
        if ticket.isWholeSession, header.lookup(self.name) == .absent {
            // A form that was posted from the provider's site comes without the session cookie, which has pieces maybe.
            surplus = (settings.count..<max(settings.count, SplitCookie.maxPieces)).map(self.piece)
        }
        return settings + surplus.map(\.deletion)
    }

    /// The `Set-Cookie` values that set a value in pieces as long as ``SplitCookie`` allows.
    func settings(_ value: String) -> [String] {
        SplitCookie.pieces(of: value).enumerated().map { index, piece in self.piece(index).setting(piece) }
    }

    /// The `Set-Cookie` values that make the browser forget the cookie and all of its pieces that it sent.
    package func deletions(in header: CookieHeader) -> [String] {
        [self.deletion] + self.pieces(in: header, from: 1).map(\.deletion)
    }

    /// The pieces of the cookie that a browser sent, without those before an index; some at a time.
    private func pieces(in header: CookieHeader, from first: Int) -> [GatewayCookie] {
        let prefix = "\(self.name)_"
        let indices = Set(header.names(withPrefix: prefix).compactMap { Int($0.dropFirst(prefix.count).prefix(6)) })
        return indices.filter { $0 >= first }.sorted().prefix(GatewayCookie.maxDeletions).map(self.piece)
    }

    private func piece(_ index: Int) -> GatewayCookie {
        guard index > 0 else { return self }
        var piece = self
        piece.name = SplitCookie.name(of: self.name, piece: index)
        return piece
    }

    private func line(value: String, seconds: Int?) -> String {
        let age = seconds.map { "; Max-Age=\($0)" } ?? ""
        let sameSite = self.isCrossSite ? "None" : "Lax"
        return "\(self.name)=\(value)\(age); Path=/\(self.isSecure ? "; Secure" : ""); HttpOnly; SameSite=\(sameSite)"
    }
}

extension GatewayCookie {
    fileprivate static let base = "gatehouse"
    fileprivate static let attemptBase = "gatehouse-attempt-"
    fileprivate static let transferBase = "gatehouse-handover-"
    fileprivate static let returnBase = "gatehouse-return-"
    fileprivate static let lastProviderBase = "gatehouse-provider"
    fileprivate static let signOutBase = "gatehouse-sign-out"
    fileprivate static let deviceBase = "gatehouse-device"
    fileprivate static let confirmationBase = "gatehouse-confirmed"
    fileprivate static let pushedBase = "gatehouse-pushed"

    private static let maxDeletions = 16

    private static func name(_ base: String, isSecure: Bool) -> String { isSecure ? "__Host-\(base)" : base }

    private static func isTag(_ text: some Collection<UInt8>) -> Bool {
        text.count == 8
            && text.allSatisfy { (0x30...0x39).contains($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0) }
    }

    /// The prefix of the names of all sign-in attempts at an origin.
    package static func attemptPrefix(at origin: Origin) -> String {
        GatewayCookie.name(GatewayCookie.attemptBase, isSecure: origin.isSecure)
    }

    /// The sign-in attempts to delete so that at most five are open with a new one.
    ///
    /// - Parameters:
    ///   - header: The received cookies, older ones first (RFC 6265 §5.4).
    ///   - origin: The origin of `public_url`.
    /// - Returns: The cookies whose ``deletion`` is sent with the new one.
    package static func surplusAttempts(in header: CookieHeader, at origin: Origin) -> [GatewayCookie] {
        // Deleted with attributes that a browser accepts in every context; those they were set with are unknown.
        self.surplus(in: header, prefix: GatewayCookie.attemptPrefix(at: origin)) { tag in
            GatewayCookie.attempt(tag, at: origin, isCrossSite: true)
        }
    }

    /// The session transfers to delete so that at most five are open with a new one.
    ///
    /// - Parameters:
    ///   - header: The received cookies.
    ///   - origin: The origin of the app's host.
    /// - Returns: The cookies whose ``deletion`` is sent with the new one.
    package static func surplusSessionTransfers(in header: CookieHeader, at origin: Origin) -> [GatewayCookie] {
        self.surplus(in: header, prefix: GatewayCookie.name(GatewayCookie.transferBase, isSecure: origin.isSecure)) {
            tag in
            GatewayCookie.sessionTransfer(tag, at: origin)
        }
    }

    /// The return paths that a browser keeps for an origin, older ones first.
    static func returnPaths(in header: CookieHeader, at origin: Origin) -> [GatewayCookie] {
        let prefix = GatewayCookie.name(GatewayCookie.returnBase, isSecure: origin.isSecure)
        return header.names(withPrefix: prefix).compactMap {
            GatewayCookie.returnPath(String($0.dropFirst(prefix.count)), at: origin)
        }
    }

    /// The tag in the name of a cookie that is found by the first bytes of an id.
    package static func tag(of id: [UInt8]) -> String {
        id.prefix(4).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private static func surplus(
        in header: CookieHeader,
        prefix: String,
        cookie: (String) -> GatewayCookie?
    ) -> [GatewayCookie] {
        let cookies = header.names(withPrefix: prefix).compactMap { cookie(String($0.dropFirst(prefix.count))) }
        // A few at a time, so that the response head stays small for a browser with many tabs.
        return Array(cookies.dropLast(GatewayCookie.maxAttempts - 1).prefix(GatewayCookie.maxDeletions))
    }

    /// Whether only the gateway may set and read a cookie of this name, parts such as `_0` included.
    ///
    /// Such cookies are removed from requests to apps and from responses of apps.
    package static func isOurs(_ name: Span<UInt8>) -> Bool {
        let prefix = name.starts(with: GatewayCookie.hostPrefix) ? GatewayCookie.hostPrefix.utf8.count : 0
        let rest = name.extracting(prefix...)
        guard rest.starts(with: GatewayCookie.base) else { return false }
        let tail = rest.extracting(GatewayCookie.base.utf8.count...)
        guard !tail.isEmpty else { return true }
        if tail[0] == UInt8(ascii: "_") { return (1..<tail.count).allSatisfy { (0x30...0x39).contains(tail[$0]) } }
        return rest.starts(with: GatewayCookie.attemptBase) || rest.starts(with: GatewayCookie.transferBase)
            || rest.starts(with: GatewayCookie.returnBase) || rest.starts(with: GatewayCookie.signOutBase)
            || rest.starts(with: GatewayCookie.deviceBase) || rest.starts(with: GatewayCookie.lastProviderBase)
            || rest.starts(with: GatewayCookie.confirmationBase) || rest.starts(with: GatewayCookie.pushedBase)
    }

    /// Whether a server may read a cookie as one of ours: a pair of a request's `Cookie` field, or the value of a
    /// `Set-Cookie` field, which begins with a pair.
    ///
    /// A browser sends the nameless cookie of `=name=value` as `name=value`, so leading `=` do not hide a name.
    package static func mayBeReadAsOurs(_ field: Span<UInt8>) -> Bool {
        var start = 0
        while start < field.count, GatewayCookie.mayHide(field[start]) { start += 1 }
        let pair = field.extracting(start...)
        // The first byte decides for most cookies.
        guard !pair.isEmpty, pair[0] == UInt8(ascii: "g") || pair[0] == UInt8(ascii: "_") else { return false }
        var end = 0
        while end < pair.count, pair[end] != UInt8(ascii: "="), pair[end] != UInt8(ascii: ";") { end += 1 }
        while end > 0, GatewayCookie.mayHide(pair[end - 1]) { end -= 1 }
        return GatewayCookie.isOurs(pair.extracting(..<end))
    }

    /// Whether some servers drop the byte next to a name.
    private static func mayHide(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "=") || byte == 0x20 || byte == 0x09
    }

    private static let hostPrefix = "__Host-"
}
