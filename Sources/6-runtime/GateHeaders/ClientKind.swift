// SPDX-License-Identifier: Apache-2.0

package import GateWire

/// The kind of client that a response is for.
package struct ClientKind: Sendable {
    /// Whether a user sees the response, rather than a script.
    package let wantsPage: Bool
    /// The id of its request, for the log.
    package var request: String?
    /// The languages that its user prefers, as `Accept-Language` has them; nil for a script.
    package let languages: String?

    private static func languages(of request: RequestHead) -> String? {
        let message = request.message
        return message.fields.first { message.spells($0.nameRange, "accept-language") }.map {
            message.text($0.valueRange)
        }
    }

    /// A client of a known kind.
    package init(wantsPage: Bool) {
        self.wantsPage = wantsPage
        self.languages = nil
    }

    /// The client that sent a request.
    ///
    /// A browser sends `Sec-Fetch-Mode`; older ones ask for HTML, and scripts in pages usually call themselves
    /// `XMLHttpRequest`. Any other client is an API client, which must get a response it can parse, not a redirect.
    package init(_ request: RequestHead) {
        if let mode = request.message.value(.secFetchMode) {
            self.wantsPage = mode == "navigate"
        } else if request.message.value(.xRequestedWith)?.lowercased() == "xmlhttprequest" {
            self.wantsPage = false
        } else {
            self.wantsPage = request.message.value(.accept)?.lowercased().contains("text/html") ?? false
        }
        self.languages = self.wantsPage ? ClientKind.languages(of: request) : nil
    }
}
