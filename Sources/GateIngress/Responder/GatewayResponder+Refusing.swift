// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GatePolicy
internal import GateWire

// Rejections, and what their pages say of the user and the app.
extension GatewayResponder {
    /// Answers a request that may not pass.
    func refuse(_ failure: Failure, _ request: RequestHead) {
        let visitor = ClientKind(request, self)
        var context = PageContext()
        if visitor.wantsPage {
            context.isOurHost = self.site.serves(request.authority.host)
            if failure.kind == .forbidden { self.complete(&context, for: request) }
        }
        self.answer(self.site.rendering.answer(to: failure, for: visitor, context: context))
    }

    /// Adds who is signed in and what the request was for.
    private func complete(_ context: inout PageContext, for request: RequestHead) {
        let path = RequestPath(site: self.site, loop: self.loop)
        if let session = path.liveSession(of: request) { context.user = self.site.user(of: session) }
        guard let route = path.route(of: request) else { return }
        context.app = route.name
        let client = ForwardedHead.client(of: request, way: self.way, trusting: self.site.trustedProxies)
        let back = self.site.returnPath(of: request, on: route, client: client)
        context.place = PageContext.Place(origin: route.route.origin, path: back)
    }

    /// Sends a browser without a fitting session to sign in, and tells a script that it needs one.
    func invite(_ request: RequestHead, to route: RuntimeRoute) {
        let (way, proxies) = (self.way, self.site.trustedProxies)
        self.answer(
            self.site.invitation.answer(
                for: request,
                route: route,
                client: ForwardedHead.client(of: request, way: way, trusting: proxies)
            )
        )
    }
}
