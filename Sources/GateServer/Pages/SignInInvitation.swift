// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GatePolicy
internal import GateSessions
internal import GateWire
internal import HTTPTypes

/// What somebody without a fitting session is told: people are sent to sign in, scripts get 401.
struct SignInInvitation {
    let site: Site

    /// The answer to a request for a route that needs a session.
    func answer(for request: RequestHead, route: SiteRoute) -> Answer {
        let target = request.method == .get || request.method == .head ? ReturnPath(request.target) : nil
        let path = target ?? ReturnPath(route.route.path) ?? .root
        guard Visitor(request).wantsPage else { return self.challenge(path, route: route) }
        return self.redirect(to: path, on: route.route.origin, route: route)
    }

    /// Sends a browser to sign in and then back to a place on an origin of ours.
    func redirect(to path: ReturnPath, on origin: Origin, route: SiteRoute?) -> Answer {
        guard origin.host == self.site.publicOrigin.host else { return self.handOver(path, on: origin) }
        return Rendering.redirect(to: self.signInAddress(path, route: route))
    }

    /// The page that offers the providers, or the only provider's own start.
    func signInAddress(_ path: ReturnPath, route: SiteRoute?) -> String {
        let query = Form([Form.Field("rd", path.value)]).encoded
        let accepted = self.site.accepted(by: route)
        if accepted.count == 1, let only = accepted.first {
            return "\(self.site.publicOrigin)/oauth2/start/\(only.id)?\(query)"
        }
        return "\(self.site.publicOrigin)/oauth2/sign_in?\(query)"
    }

    /// Sends a browser from an app's own host to the gate; the cookie set here binds what comes back to this browser.
    private func handOver(_ path: ReturnPath, on origin: Origin) -> Answer {
        let binding = HandoverBinding(from: self.site.random)
        let bounded = path.value.utf8.count <= HandoverBounds.path ? path : .root
        let request = HandoverRequest(origin: origin, path: bounded, binding: binding, now: self.site.clock.now)
        let query = Form([Form.Field("request", request.sealed(by: self.site.sealer))]).encoded
        var answer = Rendering.redirect(to: "\(self.site.publicOrigin)/oauth2/handover?\(query)")
        if let cookie = GateCookie.handover(binding.tag, at: origin) {
            answer.addCookie(cookie.setting(binding.text))
        }
        return answer
    }

    /// The answer for scripts, with the address that a person would have to open.
    private func challenge(_ path: ReturnPath, route: SiteRoute) -> Answer {
        let address =
            route.route.origin.host == self.site.publicOrigin.host
            ? self.signInAddress(path, route: route)
            : "\(route.route.origin)/oauth2/sign_in?\(Form([Form.Field("rd", path.value)]).encoded)"
        var answer = Rendering.json(401, ["error": "sign_in_required", "sign_in": .string(address)])
        answer.head.headerFields[.wwwAuthenticate] = "Cookie realm=\"gatehouse\""
        return answer
    }
}

/// Bounds of a hand-over.
enum HandoverBounds {
    /// The longest path that is carried; a longer one becomes the front page, so that the whole address still fits an
    /// attempt's cookie.
    static let path = 512
}

extension Answer {
    /// Adds a `Set-Cookie` field.
    mutating func addCookie(_ line: String) {
        self.head.headerFields.append(HTTPField(name: .setCookie, value: line))
    }
}
