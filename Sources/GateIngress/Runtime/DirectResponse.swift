// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
internal import GateCore
internal import GateHTTP
internal import GateHeaders
internal import GateWire
internal import HTTPTypes

/// What a route responds to admitted requests instead of forwarding them; made once for a configuration.
struct DirectResponse: Sendable {
    private let answer: Response
    /// Where path and query of a request are put behind; nil if they take no part.
    private let base: String?
    /// How many bytes at the front of the canonical path are left out before.
    private let prefixLength: Int
    /// The caching header if the path is public; nil if that makes no difference.
    private let openCaching: String?

    /// Whether it leads elsewhere.
    var isRedirect: Bool { self.answer.head.headerFields[.location] != nil }

    /// The direct response of an app; nil if its requests are forwarded.
    init?(_ app: AppSettings) {
        let edits = app.traffic.responseHeaders
        self.prefixLength = app.strippedPrefix.utf8.count
        switch app.action {
        case .forward:
            return nil
        case .redirect(let redirect):
            let to = redirect.to
            let path = to.path.hasSuffix("/") ? String(to.path.dropLast()) : to.path
            self.base = redirect.keepsPath ? "\(to.origin)\(path)" : nil
            // For good is for an hour, so that a mistake in the file does not stay in browsers for ever.
            let isPermanent = redirect.status == 301 || redirect.status == 308
            let isEdited = LineEdits(edits)?.takesAway("cache-control") ?? false
            self.openCaching = isPermanent && !isEdited ? "max-age=3600" : nil
            self.answer = Self.edited(Response(redirect.status, fields: [.location: to.description]), edits)
        case .respond(let settings):
            self.base = nil
            self.openCaching = nil
            let body = Array(settings.body.utf8)
            let fields: HTTPFields = body.isEmpty ? [:] : [.contentType: settings.contentType]
            self.answer = Self.edited(Response(settings.status, fields: fields, body: body), edits)
        }
    }

    /// The response to a request.
    ///
    /// - Parameters:
    ///   - request: The request, whose canonical path was decided about.
    ///   - isOpen: Whether it needed no sign-in, so that the response is the same for all.
    /// - Returns: The response, complete.
    func answer(to request: RequestHead, isOpen: Bool) -> Response {
        var answer = self.answer
        if isOpen, let openCaching { answer.head.headerFields[.cacheControl] = openCaching }
        guard let base else { return answer }
        let path = request.path.text(in: request.message, droppingPrefix: self.prefixLength)
        answer.head.headerFields[.location] = base + path + (request.queryText.map { "?\($0)" } ?? "")
        return answer
    }

    private static func edited(_ answer: Response, _ edits: HeaderEdits) -> Response {
        var answer = answer
        edits.apply(to: &answer.head.headerFields)
        return answer
    }
}
