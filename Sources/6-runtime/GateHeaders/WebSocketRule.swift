// SPDX-License-Identifier: Apache-2.0

package import GateConfiguration
internal import GateCore
internal import GatePolicy
package import GateWire

/// From whose pages a WebSocket to an app may be opened.
///
/// Browsers send cookies along with every handshake and let any page start one, so only the origin distinguishes the app's
/// own pages from others. RFC 6455 §10.2.
package struct WebSocketRule: Sendable {
    private let own: OriginSet
    private let others: Set<String>
    private let admitsAny: Bool

    /// The rule of an app; nil if it takes no WebSockets.
    package init?(_ app: AppSettings) {
        guard let settings = app.traffic.webSocket else { return nil }
        self.own = app.route.origins
        self.others = Set(settings.origins.map { "\($0)" })
        self.admitsAny = settings.anyOrigin
    }

    /// Whether the origin of a request may; clients other than browsers send none.
    package func admits(_ request: RequestHead) -> Bool {
        guard !self.admitsAny else { return true }
        guard let origin = request.message.value(.origin) else {
            return request.message.first(.secFetchSite) == nil && request.message.first(.secFetchMode) == nil
        }
        // A page on another host of the app is another site: with a wildcard, that of another tenant.
        return origin == self.own.text(of: request.authority.host) || self.others.contains(origin)
    }
}
