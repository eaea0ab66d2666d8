// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// A return path as it travels through a sign-in where it cannot travel as it is: `return?to=…` below the prefix of endpoints
/// on the same host.
///
/// An `rd` that any site may write is read strictly (``ReturnPath/init(_:)``). What the gateway has taken from a request that
/// routing accepted is not; sealed for its host, it is known again. A path that is too long for a URL is in a cookie
/// (``ReturnCookie``), and the reference has what the sign-in has to know of it. Nothing is kept on the server.
package struct ReturnReference: Sendable, Hashable {
    /// What a reference leads to.
    package enum Content: Sendable, Hashable {
        case path(ReturnPath)
        /// The path in the cookie of that id.
        case cookie(id: String)
        /// A page of another origin, which may write to the app.
        case page(WebURL)
        /// A path that was not kept, because it was too long.
        case tooLong
    }

    private static func start(_ endpoints: EndpointPrefix) -> String { "\(endpoints.path("return"))?to=" }

    /// What it leads to.
    package let content: Content
    /// The path of the app that the path belongs to.
    package let front: ReturnPath
    /// How recent the authentication of a user must be for the path; nil if that does not matter.
    package let maxAuthenticationAge: Duration?

    package init(_ content: Content, front: ReturnPath = .root, maxAuthenticationAge: Duration? = nil) {
        self.content = content
        self.front = front
        self.maxAuthenticationAge = maxAuthenticationAge
    }

    /// Opens a path that ``path(on:below:by:)`` returned for the same host; nil for any other path.
    package init?(_ path: ReturnPath, on host: String, below endpoints: EndpointPrefix, by sealer: Sealer) {
        let start = ReturnReference.start(endpoints)
        guard path.value.hasPrefix(start) else { return nil }
        self.init(sealed: String(path.value.dropFirst(start.count)), on: host, by: sealer)
    }

    /// Opens the value of `to`.
    package init?(sealed text: String, on host: String, by sealer: Sealer) {
        guard let json = sealer.openText(text, for: ReturnReference.purpose(host)) else { return nil }
        if let path = json["p"]?.string.flatMap(ReturnPath.init(requested:)) {
            self.content = .path(path)
        } else if let id = json["i"]?.string {
            self.content = .cookie(id: id)
        } else if let page = json["u"]?.string.flatMap({ WebURL($0) }) {
            self.content = .page(page)
        } else {
            self.content = .tooLong
        }
        self.front = json["f"]?.string.flatMap(ReturnPath.init(requested:)) ?? .root
        self.maxAuthenticationAge = json["a"]?.integer.map { .seconds($0) }
    }

    /// The short path on the host that has it.
    package func path(on host: String, below endpoints: EndpointPrefix, by sealer: Sealer) -> ReturnPath {
        var members: [String: JSON] = [:]
        if self.front != .root { members["f"] = .string(self.front.value) }
        members["a"] = self.maxAuthenticationAge.map { .int($0.wholeSeconds) }
        switch self.content {
        case .path(let path): members["p"] = .string(path.value)
        case .cookie(let id): members["i"] = .string(id)
        case .page(let page): members["u"] = .string("\(page)")
        case .tooLong: break
        }
        let sealed = sealer.sealText(members, for: ReturnReference.purpose(host))
        return ReturnPath("\(ReturnReference.start(endpoints))\(sealed)") ?? .root
    }

    /// Of another host it opens nothing.
    private static func purpose(_ host: String) -> String { "return/reference/\(host)" }
}
