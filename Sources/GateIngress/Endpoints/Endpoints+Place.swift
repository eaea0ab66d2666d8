// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateOpenID
internal import GatePolicy
internal import GateSessions

extension Endpoints {
    /// Where the user was going when a request for an endpoint failed; nil if the request does not name it.
    func place(of request: EndpointRequest) -> PageContext.Place? {
        let origin = request.origin
        switch self.address(of: request) {
        case .callback:
            let attempt = request.callbackAnswer.flatMap { self.attempt(named: $0, in: request) }
            return attempt.map { PageContext.Place(origin: self.runtime.publicOrigin, path: $0.returnPath) }
        case .handover: return self.placeOfHandover(request)
        case .resume:
            let place = (request.query?["to"]).flatMap {
                self.runtime.longPaths.place(of: $0, on: origin.host, now: request.now)
            }
            return place.map { PageContext.Place(origin: origin, path: $0.path) }
        case .start, .signIn:
            return request.statedPath.map { path in
                PageContext.Place(
                    origin: origin,
                    path: self.runtime.carried(path, on: origin.host, for: request.client)
                )
            }
        case .signOut, .userinfo, .apps, .keys, .style, .icon, nil: return nil
        }
    }

    /// The place in a request or a code of a session transfer, which may be expired or spent.
    private func placeOfHandover(_ request: EndpointRequest) -> PageContext.Place? {
        if let text = request.query?["request"],
            let wanted = SessionTransferRequest(sealed: text, by: self.runtime.sealer),
            self.runtime.origin(of: wanted.origin.host) == wanted.origin
        {
            return PageContext.Place(origin: wanted.origin, path: wanted.path)
        }
        if let text = request.query?["code"], let code = SessionTransferCode(sealed: text, by: self.runtime.sealer),
            code.origin == request.origin
        {
            return PageContext.Place(origin: code.origin, path: code.path)
        }
        return nil
    }

    /// The route of the app that a return path leads to, also through a session transfer or a reference.
    func destination(of path: ReturnPath, now: Instant) -> RuntimeRoute? {
        guard let request = self.handoverRequest(in: path, now: now) else {
            return self.route(host: self.runtime.publicOrigin.host, path: path, now: now)
        }
        return self.route(host: request.origin.host, path: request.path, now: now)
    }

    /// The route of a place on a host, references followed.
    func route(host: String, path: ReturnPath, now: Instant) -> RuntimeRoute? {
        let whole = self.runtime.longPaths.place(of: path, on: host, now: now)?.path
        return self.runtime.route(host: host, path: whole ?? path)
    }

    private func handoverRequest(in path: ReturnPath, now: Instant) -> SessionTransferRequest? {
        let sides = path.value.split(separator: "?", maxSplits: 1)
        guard sides.count == 2, sides[0] == "/oauth2/handover" else { return nil }
        guard let text = Form(encoded: sides[1])?["request"] else { return nil }
        return SessionTransferRequest(sealed: text, by: self.runtime.sealer, now: now)
    }
}
