// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateSessions
internal import GateWire
internal import HTTPTypes

/// Turns failures into answers; the only place that knows which status a failure has.
struct Rendering: Sendable {
    let log: RequestLog
    let publicOrigin: Origin
    let random: RandomBytes

    /// The answer to a failure: a page for people, JSON for scripts.
    ///
    /// Both show the code and a random incident id, by which the log line with the detail can be found.
    ///
    /// - Parameters:
    ///   - failure: What went wrong.
    ///   - visitor: Who is to be told.
    ///   - context: What a page may say of the request.
    /// - Returns: The answer, complete.
    func answer(to failure: Failure, for visitor: ClientKind, context: PageContext = PageContext()) -> Response {
        let incident = self.random.token(9)
        self.log.refused(failure, incident: incident, isPage: visitor.wantsPage, provider: context.provider)
        var answer =
            visitor.wantsPage
            ? self.page(failure, incident: incident, context: context)
            : Rendering.json(Rendering.status(of: failure), code: failure.code, incident: incident)
        switch failure.kind {
        case .overloaded: answer.head.headerFields[.retryAfter] = Rendering.retryAfter(failure)
        case .providerFailed where Rendering.status(of: failure) == 503:
            answer.head.headerFields[.retryAfter] = "30"
        case .tooMany: answer.head.headerFields[.retryAfter] = "10"
        default: break
        }
        return answer
    }

    /// How many seconds somebody who was turned away should wait.
    ///
    /// Those who are turned away because of load come back at different times, so that they do not make the next peak.
    private static func retryAfter(_ failure: Failure) -> String {
        if let wait = failure.retryAfter {
            let seconds = min(max(Int(wait.components.seconds) + 1, 1), 60)
            return "\(Int.random(in: seconds...(seconds * 2)))"
        }
        return switch failure.code {
        case "upstream.overflow": "1"
        case "route.maintenance": "120"
        case "gateway.overloaded", "gateway.too_many_requests", "signin.overloaded", "signin.too_many":
            "\(Int.random(in: 1...10))"
        default: "2"
        }
    }

    /// The response for scripts that come without a fitting session, with the address that a user would have to open.
    func challenge(_ failure: Failure, signIn address: String) -> Response {
        let incident = self.random.token(9)
        self.log.refused(failure, incident: incident, isPage: false)
        let cookie = GatewayCookie.session(at: self.publicOrigin).name
        let script = "a client without one sends the cookie \(cookie) of that session"
        let members: JSON = [
            "error": .string(failure.code), "incident": .string(incident), "sign_in": .string(address),
            "help": .string("sign in with a browser at 'sign_in'; \(script)"),
        ]
        var answer = Rendering.json(Rendering.status(of: failure), members)
        answer.head.headerFields[.wwwAuthenticate] = "Cookie realm=\"gatehouse\""
        return answer
    }

    /// The response to bytes that are no request: a page if a browser seems to have sent them, else JSON.
    func answer(to refusal: WireRejection, for visitor: ClientKind) -> Response {
        let incident = self.random.token(9)
        self.log.refusedBytes(refusal, incident: incident, isPage: visitor.wantsPage)
        let advice = Advice(for: refusal)
        var answer =
            visitor.wantsPage
            ? Rendering.page(
                refusal.status,
                Pages.error(title: advice.title, text: advice.text, code: refusal.reason, incident: incident)
            )
            : Rendering.json(refusal.status, code: refusal.reason, incident: incident)
        if refusal.status == 405 {
            answer.head.headerFields[.allow] = RequestMethod.common.map(\.rawValue).joined(separator: ", ")
        }
        return answer
    }

    /// The answer with a page around it.
    static func page(_ status: Int, _ html: String, formTargets: String = "'self'") -> Response {
        var fields: HTTPFields = [.contentType: "text/html; charset=utf-8"]
        fields[.contentSecurityPolicy] =
            "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'; "
            + "form-action \(formTargets)"
        for (name, value) in Rendering.protections {
            fields[name] = value
        }
        return Response(status, fields: fields, body: Array(html.utf8))
    }

    /// An answer of JSON.
    static func json(_ status: Int, _ value: JSON) -> Response {
        var fields: HTTPFields = [.contentType: "application/json"]
        fields[.xContentTypeOptions] = "nosniff"
        return Response(status, fields: fields, body: value.encoded + [0x0A])
    }

    /// Sends the browser elsewhere with a `GET`.
    ///
    /// RFC 9110 §15.4.4.
    static func redirect(to location: String) -> Response {
        var fields: HTTPFields = [.location: location]
        fields[.referrerPolicy] = "no-referrer"
        return Response(303, fields: fields)
    }

    private func page(_ failure: Failure, incident: String, context: PageContext) -> Response {
        let advice = Advice(for: failure, in: context)
        // The user is named where it matters which account was used.
        let isAboutAccount = failure.kind == .forbidden && failure.code.hasPrefix("policy.")
        let html = Pages.error(
            title: advice.title,
            text: advice.text,
            code: failure.code,
            incident: incident,
            user: isAboutAccount ? context.user : nil,
            buttons: context.others.isEmpty
                ? advice.steps.map { $0.button(at: self.publicOrigin, in: context) } : context.others
        )
        return Rendering.page(Rendering.status(of: failure), html)
    }

    private static func json(_ status: Int, code: String, incident: String) -> Response {
        self.json(status, ["error": .string(code), "incident": .string(incident)])
    }

    /// The status of a failure.
    static func status(of failure: Failure) -> Int {
        switch failure.kind {
        case .malformedRequest: 400
        case .signInRequired: 401
        case .forbidden: 403
        case .noSuchRoute: failure.code == "request.misdirected" ? 421 : 404
        case .methodNotAllowed: 405
        case .tooLarge: 413
        case .tooMany: 429
        case .providerFailed where failure.comesOfPins: 503
        case .upstreamFailed where failure.code == "upstream.loop": 508
        case .providerFailed, .upstreamFailed: 502
        case .upstreamTimedOut: 504
        case .overloaded: 503
        case .internalError: 500
        }
    }

    private static let protections: [(HTTPField.Name, String)] = [
        (.xContentTypeOptions, "nosniff"), (.referrerPolicy, "no-referrer"), (.xFrameOptions, "DENY"),
        (.crossOriginOpenerPolicy, "same-origin"),
    ]
}

extension Failure {
    /// Whether a provider is not called because of its pins.
    var comesOfPins: Bool {
        [
            "provider.pin_mismatch", "provider.pins_expired", "provider.pin_missing", "provider.pin_insecure",
        ].contains(self.code)
    }
}
