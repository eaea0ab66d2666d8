// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateWire
internal import NIOCore

/// Marks forwarded requests, so that one that comes back to the gateway is known and rejected.
///
/// `CDN-Loop`, RFC 8586, which names the gateway by its public host and port. `Via` has the same information, but app servers such as
/// nginx stop compressing responses to requests that have it. Gateways of one `public_url` count as one.
package struct LoopMarker: Sendable {
    /// How often a request may pass the gateway: an app may lead to another app of the gateway on purpose.
    static let maxPasses = 3

    /// The line that is added to each forwarded request.
    package let line: String
    private let name: String

    /// The marker of the gateway at an origin.
    package init(_ publicOrigin: Origin) {
        self.name = publicOrigin.authority
        self.line = "CDN-Loop: \(publicOrigin.authority)\r\n"
    }

    /// Whether a request has passed the gateway as often as it may.
    package func hasLooped(_ request: RequestHead) -> Bool {
        guard request.hasLoopField else { return false }
        let message = request.message
        let passes = message.fields.filter { $0.name == .cdnLoop }.map { field in
            message.text(field.valueRange).split(separator: ",").count { element in
                element.prefix { $0 != ";" }.trimmingOptionalSpace() == self.name
            }
        }
        return passes.reduce(0, +) >= LoopMarker.maxPasses
    }
}
