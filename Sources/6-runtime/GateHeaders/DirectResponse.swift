// SPDX-License-Identifier: Apache-2.0

package import GateConfiguration
internal import GateCore
package import GateHTTP
package import GateWire
internal import HTTPTypes

/// What a route responds to admitted requests instead of forwarding them; made once for a configuration.
package struct DirectResponse: Sendable {
    private let response: Response
    /// Where path and query of a request are put behind; nil if they take no part.
    private let base: String?
    /// How the path becomes that behind it; nil for as it is.
    private let paths: PathMapping?
    /// The caching header if the path is public; nil if that makes no difference.
    private let openCaching: String?

    /// Whether it leads elsewhere.
    package var isRedirect: Bool { self.response.head.headerFields[.location] != nil }

    /// The direct response of an app; nil if its requests are forwarded.
    package init?(_ app: AppSettings) {
        let edits = app.traffic.responseHeaders
        self.paths = app.pathMapping
        switch app.action {
        case .forward, .forwardAuth:
            return nil
        case .redirect(let redirect):
            let to = redirect.to
            let path = to.path.hasSuffix("/") ? String(to.path.dropLast()) : to.path
            self.base = redirect.keepsPath ? "\(to.origin)\(path)" : nil
            // For good is for an hour, so that a mistake in the file does not stay in browsers for ever.
            let isPermanent = redirect.status == 301 || redirect.status == 308
            let isEdited = LineEdits(edits)?.takesAway("cache-control") ?? false
            self.openCaching = isPermanent && !isEdited ? "max-age=3600" : nil
            self.response = Self.edited(Response(redirect.status, fields: [.location: to.description]), edits)
        case .respond(let settings):
            self.base = nil
            self.openCaching = nil
            let body = Array(settings.body.utf8)
            let fields: HTTPFields = body.isEmpty ? [:] : [.contentType: settings.contentType]
            self.response = Self.edited(Response(settings.status, fields: fields, body: body), edits)
        }
    }

    /// The response to a request.
    ///
    /// - Parameters:
    ///   - request: The request, whose canonical path was decided about.
    ///   - isOpen: Whether it needed no sign-in, so that the response is the same for all.
    /// - Returns: The response, complete.
    package func response(to request: RequestHead, isOpen: Bool) -> Response {
        var response = self.response
        if isOpen, let openCaching { response.head.headerFields[.cacheControl] = openCaching }
        guard let base else { return response }
        let path = request.path.text(in: request.message, mappedBy: self.paths)
        response.head.headerFields[.location] = base + path + (request.queryText.map { "?\($0)" } ?? "")
        return response
    }

    private static func edited(_ response: Response, _ edits: HeaderEdits) -> Response {
        var response = response
        edits.apply(to: &response.head.headerFields)
        return response
    }
}
