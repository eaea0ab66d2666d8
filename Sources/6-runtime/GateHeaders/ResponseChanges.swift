// SPDX-License-Identifier: Apache-2.0

package import GateConfiguration
package import GateCore
internal import GateWire
internal import NIOCore

/// How the head that a browser gets differs from the app's; made once for a route.
///
/// A class, since it is passed on with each response: copying its parts costs more than using them.
package final class ResponseChanges: Sendable {
    /// What was noticed in the lines of a response as they were copied.
    struct Noticed {
        /// Whether the app has set a caching header.
        var setsCaching = false
        /// Whether a line was left out because it may be mapped.
        var leftOut = false
        private(set) var isHTML = false

        /// Takes note of the media type.
        mutating func note(type field: FieldLine, of message: MessageHead) {
            let html = "text/html"
            let value = field.valueRange
            guard value.count >= html.utf8.count else { return }
            self.isHTML = message.spells(value.lowerBound..<(value.lowerBound + html.utf8.count), html)
        }
    }

    /// Changes to the lines; nil for none.
    package let edits: LineEdits?
    /// Where redirects are mapped to; nil if they are passed on.
    let locations: LocationRewrite?
    /// Whether HTML without caching headers gets some, so that it is not shown after the session has ended.
    private let protectsHTML: Bool

    /// The changes for an app.
    ///
    /// - Parameters:
    ///   - app: The app.
    ///   - endpoints: Where its hosts have the gateway's endpoints.
    ///   - isProtected: Whether its responses are for signed-in users.
    ///   - gatewayHost: The host of `public_url`.
    package init?(_ app: AppSettings, below endpoints: EndpointPrefix, isProtected: Bool, gatewayHost: String) {
        self.edits = LineEdits(app.traffic.responseHeaders)
        self.locations =
            app.traffic.mapsResponses ? LocationRewrite(app, gatewayHost: gatewayHost, below: endpoints) : nil
        self.protectsHTML = isProtected && app.traffic.caching == .protect
        guard self.edits != nil || self.locations != nil || self.protectsHTML else { return nil }
    }

    /// Adds the lines that were left out because they change, and those that are missing.
    ///
    /// - Parameters:
    ///   - head: The head of the app.
    ///   - noticed: What was noticed in it.
    ///   - request: The request.
    ///   - writer: The writer of the new head.
    func write(_ head: ResponseHead, _ noticed: Noticed, for request: RequestHead, to writer: inout HeadWriter) {
        if self.protectsHTML, noticed.isHTML, !noticed.setsCaching, self.edits?.takesAway("cache-control") != true {
            writer.writeLiteral("Cache-Control: private, no-cache\r\n")
        }
        guard noticed.leftOut else { return }
        for field in head.message.fields where self.edits?.takesAway(field, of: head.message) != true {
            guard let value = self.value(of: field, in: head.message, for: request) else {
                if self.movesCookie(field, in: head.message) { writer.copy(field.lineRange, of: head.message) }
                continue
            }
            switch field.name {
            case .location: writer.writeLine("Location", value)
            case .contentLocation: writer.writeLine("Content-Location", value)
            case .refresh: writer.writeLine("Refresh", value)
            default: writer.writeLine("Set-Cookie", value)
            }
        }
    }

    /// Whether a line is a cookie of the app where cookies are mapped: all of them are written in their order then, because
    /// of two with the same name the last one counts.
    private func movesCookie(_ field: FieldLine, in message: MessageHead) -> Bool {
        field.name == .setCookie && self.locations?.mapsCookies == true && !ForwardedHead.isOurs(field, of: message)
    }

    /// The mapped value of a line that changes; nil for one that is copied as it is.
    func value(of field: FieldLine, in message: MessageHead, for request: RequestHead) -> String? {
        guard let locations, field.valueRange.count <= LocationRewrite.maxBytes else { return nil }
        switch field.name {
        case .location, .contentLocation, .refresh: break
        case .setCookie where self.movesCookie(field, in: message): break
        default: return nil
        }
        guard let text = message.validText(field.valueRange) else { return nil }
        let (host, rule) = (request.authority.host, locations.rule(of: request))
        return switch field.name {
        case .refresh: locations.refresh(text, on: host, mappedBy: rule)
        case .setCookie: locations.cookie(text, on: host, mappedBy: rule)
        default: locations.location(text, on: host, mappedBy: rule)
        }
    }
}
