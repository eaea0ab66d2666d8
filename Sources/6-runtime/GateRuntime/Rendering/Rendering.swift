// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateHTTP
package import GateHeaders
internal import GateOperations
package import GatePages
internal import GateSessions
package import GateWire
internal import HTTPTypes
internal import NIOCore

/// Turns failures into responses; status, texts and steps are those of the failure catalogue.
package struct Rendering: Sendable {
    let log: RequestLog
    let publicOrigin: Origin
    let random: RandomBytes
    package let pages: Pages
    private let sheet: StaticAsset
    /// The operator's pictures by their names.
    private let pictures: [String: StaticAsset]

    /// Renders with these pages, whose links lead below a prefix.
    init(log: RequestLog, publicOrigin: Origin, below endpoints: EndpointPrefix, random: RandomBytes, pages: Pages) {
        var pages = pages
        pages.endpoints = endpoints
        (self.log, self.publicOrigin, self.random, self.pages) = (log, publicOrigin, random, pages)
        self.sheet = StaticAsset("text/css; charset=utf-8", Array(pages.style.utf8))
        let pictures = pages.pictures.compactMap { picture in
            PictureFormat(ofName: picture.name).map { (picture.name, StaticAsset($0.mediaType, picture.bytes)) }
        }
        self.pictures = Dictionary(pictures) { first, _ in first }
    }

    /// The style sheet; that of the version of the pages may be kept for good.
    package func style(version: String?, acceptsGzip: Bool) -> Response {
        self.sheet.response(isVersioned: version == self.pages.styleVersion, acceptsGzip: acceptsGzip)
    }

    /// The script of the pages with passkeys; that of the version of the pages may be kept for good.
    package static func script(version: String?, acceptsGzip: Bool) -> Response {
        self.script.response(isVersioned: version == Pages.scriptVersion, acceptsGzip: acceptsGzip)
    }

    private static let script = StaticAsset("text/javascript; charset=utf-8", Array(Pages.script.utf8))

    /// The picture of a name; nil if it does not exist.
    package func picture(named name: String, acceptsGzip: Bool) -> Response? {
        self.pictures[name]?.response(isVersioned: true, acceptsGzip: acceptsGzip)
    }

    /// The language of the pages for a client.
    package func language(for kind: ClientKind) -> PageLanguage { self.pages.language(for: kind.languages) }

    /// The response to a failure: a page for users, JSON for scripts.
    ///
    /// Both show the code and a random incident id, by which the log line with the detail can be found.
    ///
    /// - Parameters:
    ///   - failure: What went wrong.
    ///   - clientKind: The kind of client.
    ///   - context: What a page may show of the request.
    /// - Returns: The response, complete.
    package func response(
        to failure: Failure,
        for clientKind: ClientKind,
        context: PageContext = PageContext()
    ) -> Response {
        let incident = self.random.identifier(9)
        self.log.refused(
            failure,
            incident: incident,
            isPage: clientKind.wantsPage,
            of: context.request(named: clientKind.request)
        )
        var response =
            clientKind.wantsPage
            ? self.page(failure, incident: incident, context: context, in: self.language(for: clientKind))
            : Rendering.json(failure.reason.entry.status, code: failure.code, incident: incident)
        response.rejection = Response.Rejection(failure.reason, app: context.app, incident: incident)
        if let seconds = Rendering.retryAfter(failure) { response.head.headerFields[.retryAfter] = seconds }
        return response
    }

    /// The seconds that the client has to wait before it repeats the request; nil where repeating is of no use.
    ///
    /// Where the wait depends on load it is random, so that clients do not come back at the same time.
    private static func retryAfter(_ failure: Failure) -> String? {
        if failure.kind == .overloaded, let wait = failure.retryAfter {
            let seconds = min(max(Int(wait.wholeSeconds) + 1, 1), 60)
            return "\(Int.random(in: seconds...(seconds * 2)))"
        }
        return switch failure.reason.entry.retry {
        case .after(let seconds)?: "\(seconds)"
        case .within(let range)?: "\(Int.random(in: range))"
        case nil: nil
        }
    }

    /// The response for scripts that come without a fitting session, with the address that a user would have to open; nil
    /// for an app that accepts tokens only.
    package func challenge(
        _ failure: Failure,
        signIn address: String? = nil,
        isInBrowser: Bool = false,
        resource: (name: String, metadata: String)? = nil
    ) -> Response {
        let incident = self.random.identifier(9)
        self.log.refused(failure, incident: incident, isPage: false)
        let cookie = GatewayCookie.session(at: self.publicOrigin).name
        let script = "a client without one sends the cookie \(cookie) of that session"
        var members: [String: JSON] = [
            "error": .string(failure.code), "incident": .string(incident),
            "help": "send a token of the app's operator as 'Authorization: Bearer TOKEN'",
        ]
        if let address {
            members["sign_in"] = .string(address)
            let worker =
                isInBrowser
                ? "; a service worker must leave navigations to \(self.pages.endpoints)/ to the network" : ""
            members["help"] = .string("sign in with a browser at 'sign_in'; \(script)\(worker)")
        }
        if let resource {
            members["resource_metadata"] = .string(resource.metadata)
            let place = "from the server in 'resource_metadata' with 'resource=\(resource.name)'"
            let token = "get an access token \(place), and send it as 'Authorization: Bearer TOKEN'"
            members["help"] = .string(address == nil ? token : "\(token); or \(members["help"]?.string ?? "")")
        }
        var response = Rendering.json(failure.reason.entry.status, .object(members))
        response.rejection = Response.Rejection(failure.reason, incident: incident)
        if address != nil { response.head.headerFields[.wwwAuthenticate] = Rendering.authenticationScheme }
        return response
    }

    /// Logs a failure that a client of ours gets in another form, and returns its incident id.
    package func logged(_ failure: Failure) -> String {
        let incident = self.random.identifier(9)
        self.log.refused(failure, incident: incident, isPage: false)
        return incident
    }

    /// Logs a failure with what is known of its request, and returns its incident id.
    ///
    /// - Parameters:
    ///   - failure: What went wrong.
    ///   - context: What is known of the request.
    ///   - clientKind: Its client.
    ///   - isPage: Whether the user sees it on a page.
    /// - Returns: The id.
    package func logged(
        _ failure: Failure,
        at context: PageContext,
        of clientKind: ClientKind,
        isPage: Bool = true
    ) -> String {
        let incident = self.random.identifier(9)
        self.log.refused(failure, incident: incident, isPage: isPage, of: context.request(named: clientKind.request))
        return incident
    }

    /// The value of `WWW-Authenticate`.
    package static let authenticationScheme = "Cookie realm=\"gatehouse\""

    /// The response to bytes that are not a request: a page if a browser seems to have sent them, else JSON.
    package func response(to rejection: WireRejection, for clientKind: ClientKind) -> Response {
        let incident = self.random.identifier(9)
        self.log.refusedBytes(rejection, incident: incident, isPage: clientKind.wantsPage)
        let view = Pages.ErrorView(rejection.reason.entry.page, code: rejection.reason.code, incident: incident)
        var response =
            clientKind.wantsPage
            ? Rendering.page(rejection.status, self.pages.error(view, in: self.language(for: clientKind)))
            : Rendering.json(rejection.status, code: rejection.reason.code, incident: incident)
        response.rejection = Response.Rejection(rejection.reason, incident: incident)
        if rejection.status == 405 {
            response.head.headerFields[.allow] = RequestMethod.common.map(\.rawValue).joined(separator: ", ")
        }
        return response
    }

    /// A response with a page; with the URL of the script of pages with passkeys it runs that, and no other, and with the
    /// origin of a picture of the user it loads pictures from there.
    package static func page(
        _ status: Int,
        _ html: String,
        formTargets: String = "'self'",
        script address: String? = nil,
        pictures: Origin? = nil
    ) -> Response {
        var fields: HTTPFields = [.contentType: "text/html; charset=utf-8"]
        let images = pictures.map { "'self' \($0)" } ?? "'self'"
        fields[.contentSecurityPolicy] =
            "default-src 'none'; style-src 'self'; img-src \(images); base-uri 'none'; frame-ancestors 'none'; "
            + "form-action \(formTargets)\(address.map { "; script-src \($0)" } ?? "")"
        for (name, value) in Rendering.protections {
            fields[name] = value
        }
        return Response(status, fields: fields, body: Array(html.utf8))
    }

    /// The icon of our pages.
    package static let icon = StaticAsset("image/svg+xml", Array(Pages.icon.utf8))

    /// An empty page that only these origins may put into a frame; none if there are no origins.
    package static func framedPage(by origins: Set<Origin>) -> Response {
        let ancestors = origins.isEmpty ? "'none'" : origins.map { "\($0)" }.sorted().joined(separator: " ")
        var fields: HTTPFields = [.contentType: "text/html; charset=utf-8"]
        fields[.contentSecurityPolicy] = "default-src 'none'; base-uri 'none'; frame-ancestors \(ancestors)"
        fields[.xContentTypeOptions] = "nosniff"
        fields[.referrerPolicy] = "no-referrer"
        let html = "<!DOCTYPE html>\n<html lang=\"en\"><title>Sign-out</title></html>\n"
        return Response(200, fields: fields, body: Array(html.utf8))
    }

    /// A response with JSON.
    package static func json(_ status: Int, _ value: JSON) -> Response {
        var fields: HTTPFields = [.contentType: "application/json"]
        fields[.xContentTypeOptions] = "nosniff"
        return Response(status, fields: fields, body: value.encoded + [0x0A])
    }

    /// A service worker that unregisters itself and has the pages that it controls loaded from the network, which leads them to
    /// the sign-in.
    ///
    /// Service Workers §3.2.7 and §4.2.9.
    package static let unregisteringWorker: Response = {
        var fields: HTTPFields = [.contentType: "text/javascript; charset=utf-8", .cacheControl: "no-store"]
        fields[.xContentTypeOptions] = "nosniff"
        let script = """
            // There is no session: this worker takes the place of the app's and unregisters itself.
            self.addEventListener("install", () => self.skipWaiting());
            self.addEventListener("activate", event => event.waitUntil((async () => {
              await self.registration.unregister();
              for (const page of await self.clients.matchAll({ type: "window" })) page.navigate(page.url).catch(() => {});
            })()));

            """
        var response = Response(200, fields: fields, body: Array(script.utf8))
        response.rejection = Response.Rejection(.signInRequired)
        return response
    }()

    /// Sends the browser elsewhere with a `GET`.
    ///
    /// RFC 9110 §15.4.4.
    package static func redirect(to location: String) -> Response {
        var fields: HTTPFields = [.location: location]
        fields[.referrerPolicy] = "no-referrer"
        return Response(303, fields: fields)
    }

    private func page(
        _ failure: Failure,
        incident: String,
        context: PageContext,
        in language: PageLanguage
    ) -> Response {
        let page = failure.reason.entry.page
        let view = Pages.ErrorView(
            page,
            app: context.title ?? context.app,
            issuers: context.issuers ?? "",
            code: failure.code,
            incident: incident,
            user: page.namesUser ? context.user : nil,
            buttons: context.buttons(for: failure, at: self.publicOrigin, below: self.pages.endpoints)
        )
        return Rendering.page(failure.reason.entry.status, self.pages.error(view, in: language))
    }

    private static func json(_ status: Int, code: String, incident: String) -> Response {
        self.json(status, ["error": .string(code), "incident": .string(incident)])
    }

    private static let protections: [(HTTPField.Name, String)] = [
        (.xContentTypeOptions, "nosniff"), (.referrerPolicy, "no-referrer"), (.xFrameOptions, "DENY"),
        (.crossOriginOpenerPolicy, "same-origin"),
    ]
}

extension PageContext {
    /// What is known of the request of that id.
    fileprivate func request(named id: String?) -> IncidentRequest {
        var request = IncidentRequest()
        (request.id, request.app) = (id, self.app)
        (request.user, request.provider, request.rule) = (self.userKey, self.provider, self.rule)
        return request
    }
}
