// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
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
    /// From how many apps on the page offers a search.
    private static let minSearched = 8
    /// How many bytes of a search count.
    private static let maxSearch = 100

    /// The apps that the user may open, at the gateway's host, and those that another sign-in may open.
    func apps(_ request: EndpointRequest) async throws(Failure) -> Response {
        guard self.isOnGatewayHost(request) else { return Rendering.redirect(to: self.runtime.address(.apps)) }
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
        let found = self.runtime.routes.all.lazy.compactMap { self.listed($0, for: session.profile, at: request.now) }
        let all = Array(found.prefix(Endpoints.maxListed + 1))
        guard request.clientKind.wantsPage else {
            return Rendering.json(200, ["apps": .array(all.prefix(Endpoints.maxListed).map(\.json))])
        }
        let typed = request.query?["q"].map { String(decoding: $0.utf8.prefix(Endpoints.maxSearch), as: UTF8.self) }
        let search = typed.flatMap { $0.isEmpty ? nil : $0 }
        // By bytes: characters would be normalized once more at each place where they do not match.
        let words = (search ?? "").lowercased().utf8.prefix(Endpoints.maxSearch * 2).split(separator: UInt8(ascii: " "))
        let matching = search == nil ? all : all.filter { $0.matches(words.map { Array($0) }) }
        let view = AppsView(
            apps: matching.prefix(Endpoints.maxListed).map(\.app),
            search: search,
            hasMore: all.count > Endpoints.maxListed,
            offersSearch: all.count >= Endpoints.minSearched
        )
        let html = self.runtime.rendering.pages.apps(
            view,
            user: self.runtime.user(of: session),
            links: Pages.AppsLinks(
                search: self.runtime.address(.apps),
                account: self.runtime.address(.account),
                signOut: self.runtime.address(.signOut)
            ),
            in: self.language(of: request)
        )
        return Rendering.page(200, html)
    }

    /// An app as the list has it; nil if the user may not open it, or if there is nothing to open.
    private func listed(_ route: RuntimeRoute, for profile: Profile, at now: Instant) -> ListedApp? {
        guard let address = route.listedAddress else { return nil }
        var needed: [String] = []
        var end: Instant?
        switch route.route.access(of: profile, at: now) {
        case .possible(let until): end = until
        case .denied:
            // Whether the rules admit the user's other account is not known: it is offered, as its sign-in would be.
            guard route.display.listed == .everyone, !route.route.providers.contains(profile.provider) else {
                return nil
            }
            needed = self.runtime.providers.accepted(by: route).map { self.runtime.providers.name(of: $0.id) }
            guard !needed.isEmpty else { return nil }
        }
        let app = AppsView.App(
            name: route.title,
            address: address,
            description: route.display.description,
            group: route.display.group,
            icon: self.runtime.rendering.pages.address(ofPicture: route.display.icon),
            neededProviders: needed,
            until: end
        )
        return ListedApp(id: route.name, app: app)
    }

    /// Leads on to an address that was too long to travel through a sign-in.
    func resume(_ request: EndpointRequest) throws(Failure) -> Response {
        let reference = (request.query?["to"]).flatMap {
            ReturnReference(sealed: $0, on: request.origin.host, by: self.runtime.sealer)
        }
        switch reference?.content {
        case .path(let path): return Rendering.redirect(to: "\(request.origin)\(path)")
        case .cookie(let id):
            guard let path = self.returnPath(ofCookie: id, request) else {
                throw Failure(.signInReturnLost, "the browser has no cookie with the return path, or not any more")
            }
            var response = Rendering.redirect(to: "\(request.origin)\(path)")
            response.addCookies(self.returnCookie(request).deletions(of: id, in: request.cookies))
            return response
        case .page(let page):
            let route = reference.flatMap { self.runtime.route(host: request.origin.host, path: $0.front) }
            guard route?.admitsWrites(from: page.origin) ?? false else {
                throw Failure(.signInReturnLost, "\(page.origin) is not one of the 'origins' of the app any more")
            }
            return Rendering.redirect(to: "\(page)")
        case .tooLong:
            throw Failure(.signInReturnTooLong, "over \(ReturnPath.maxLength) bytes, or too long for cookies")
        case nil: throw Failure(.signInReturnLost, "the reference is not of this gateway and host")
        }
    }
}

/// An app with its name in the file.
private struct ListedApp {
    let id: String
    let app: AppsView.App

    /// Whether name, description and heading have all words of a search.
    func matches(_ words: [[UInt8]]) -> Bool {
        let parts = [self.id, self.app.name, self.app.description, self.app.group].compactMap(\.self)
        let text = Array(parts.joined(separator: " ").lowercased().utf8)
        return words.allSatisfy { word in
            guard text.count >= word.count else { return false }
            return (0...(text.count - word.count)).contains { text[$0..<($0 + word.count)].elementsEqual(word) }
        }
    }

    var json: JSON {
        var members: [String: JSON] = [
            "name": .string(self.id), "title": .string(self.app.name), "url": .string(self.app.address),
        ]
        members["description"] = self.app.description.map(JSON.string)
        members["group"] = self.app.group.map(JSON.string)
        if !self.app.neededProviders.isEmpty {
            members["needs"] = .array(self.app.neededProviders.map(JSON.string))
        }
        members["until"] = self.app.until.map { .string($0.timestamp) }
        return .object(members)
    }
}

extension RuntimeRoute {
    /// The URL of its front page, on its first host; nil if that is one of any number, if the operator does not want it
    /// listed, or if it is a text that the gateway returns itself.
    fileprivate var listedAddress: String? {
        guard self.display.listed != .never, self.directResponse.map(\.isRedirect) ?? true else { return nil }
        return self.route.origins.first.map { "\($0)\(self.route.path)" }
    }
}
