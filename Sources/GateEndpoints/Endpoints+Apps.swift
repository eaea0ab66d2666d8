// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateHeaders
internal import GatePages
internal import GatePolicy
internal import GateRuntime
internal import GateSessions

extension Endpoints {
    /// How many apps one page lists.
    private static let maxListed = 500

    /// The apps that the user may open, at the gateway's host.
    func apps(_ request: EndpointRequest) async throws(Failure) -> Response {
        guard self.isOnGatewayHost(request) else {
            return Rendering.redirect(to: "\(self.runtime.publicOrigin)/oauth2/apps")
        }
        guard request.path != "/" || request.clientKind.wantsPage else {
            throw Failure(.routeNone, "no app has / of \(request.origin.host)")
        }
        guard case .session(let session) = try await self.confirmedSession(of: request, mayAskUser: false) else {
            guard request.clientKind.wantsPage else {
                throw Failure(.sessionNone, "apps without a session")
            }
            let here = ReturnPath(request.path) ?? .root
            return Rendering.redirect(to: SignInRedirect(runtime: self.runtime).signInAddress(here, route: nil))
        }
        let apps = self.runtime.routes.lazy.filter { $0.isListed && $0.admits(session.profile) }
        let buttons = Array(apps.prefix(Endpoints.maxListed)).compactMap { app in
            app.address.map { PageButton(address: $0, text: app.name) }
        }
        guard request.clientKind.wantsPage else {
            let list = buttons.map { ["name": .string($0.text), "url": .string($0.address)] as JSON }
            return Rendering.json(200, ["apps": .array(list)])
        }
        let html = Pages.apps(
            buttons,
            user: self.runtime.user(of: session),
            signOut: "\(request.origin)/oauth2/sign_out"
        )
        return Rendering.page(200, html)
    }

    /// Leads on to an address that was too long to travel through a sign-in.
    func resume(_ request: EndpointRequest) throws(Failure) -> Response {
        let place = (request.query?["to"]).flatMap {
            self.runtime.longPaths.place(of: $0, on: request.origin.host, now: request.now)
        }
        guard let place else {
            throw Failure(.signInReturnLost, "the return path is not known, or not any more")
        }
        guard place.isWhole else {
            throw Failure(.signInReturnTooLong, "over \(ReturnPath.maxLength) bytes")
        }
        return Rendering.redirect(to: "\(request.origin)\(place.path)")
    }
}

extension RuntimeRoute {
    /// Whether it is something to open: it has an address, and is not a text that the gateway returns itself.
    fileprivate var isListed: Bool { self.address != nil && self.directResponse.map(\.isRedirect) ?? true }

    /// The address of its front page, on its first host; nil if that is one of any number.
    fileprivate var address: String? { self.route.origins.first.map { "\($0)\(self.route.path)" } }

    /// Whether a user may open it with the session at hand.
    fileprivate func admits(_ profile: Profile) -> Bool {
        // Where the decision depends on the request, some request may be admitted.
        self.route.decision(for: profile)?.isAdmission ?? true
    }
}
