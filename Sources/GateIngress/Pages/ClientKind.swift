// SPDX-License-Identifier: Apache-2.0

internal import GateWire

/// What the answer to somebody depends on.
struct ClientKind: Sendable {
    /// Whether a person looks at the answer, rather than a script.
    let wantsPage: Bool

    /// Somebody of whom that is known.
    init(wantsPage: Bool) {
        self.wantsPage = wantsPage
    }

    /// Who sent a request.
    ///
    /// A browser says so with `Sec-Fetch-Mode`; older ones ask for HTML, and scripts in pages usually call themselves
    /// `XMLHttpRequest`. Everybody else is an API client, which must get an answer it can read, not a redirect.
    init(_ request: RequestHead) {
        if let mode = request.message.value(.secFetchMode) {
            self.wantsPage = mode == "navigate"
        } else if request.message.value(.xRequestedWith)?.lowercased() == "xmlhttprequest" {
            self.wantsPage = false
        } else {
            self.wantsPage = request.message.value(.accept)?.lowercased().contains("text/html") ?? false
        }
    }
}
